#include "native/ops/read_arguments.h"

#include <ATen/core/jit_type.h>

#include <string>
#include <utility>

#include "native/convert/from_js.h"
#include "native/ops/value_kind.h"
#include "native/schema/arguments.h"

namespace ltn {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

[[noreturn]] void refuse_type(const TypePtr& type) {
  throw CodedError("ERR_TORCH_NOT_IMPLEMENTED",
                   "an argument of the type " + type->str() + " cannot be recorded: call the op outside of torch.run");
}

ValueKind kind_of(const TypePtr& type) {
  const auto kind = value_kind(type->kind());
  if (!kind) refuse_type(type);
  return *kind;
}

template <class T>
IValue list_of(Call& call, napi_value value, size_t index) {
  c10::List<T> list;
  for (const T& element : read_list<T>(call, value, index)) list.push_back(element);
  return list;
}

// Converts the arguments of one call.
class Reader {
 public:
  Reader(Call& call, async::OpStep& step) : call_(call), step_(step) {}

  void read(size_t index) {
    IValue* to = &step_.arguments[index];
    if (index < call_.given) *to = read(call_.arguments[index], index, step_.op.schema().arguments()[index].type(), to);
  }

 private:
  // `to`: the location of the value; null inside a list.
  IValue read(napi_value value, size_t index, const TypePtr& type, IValue* to) {
    switch (type->kind()) {
      case TypeKind::OptionalType: {
        const TypePtr& element = type->castRaw<c10::OptionalType>()->getElementType();
        const bool is_tensor = element->kind() == TypeKind::TensorType;
        if (is_tensor ? is_null_tensor(call_, value) : is_null(call_, value)) return IValue();
        return read(value, index, element, to);
      }
      case TypeKind::ListType:
        return read_elements(value, index, type->castRaw<c10::ListType>()->getElementType());
      default:
        break;
    }
    switch (kind_of(type)) {
      case ValueKind::Tensor: {
        const auto [tensor, is_there] = find(value, index);
        if (is_there) return *tensor;
        step_.recording.put_later(to, *tensor);
        return at::Tensor();
      }
      case ValueKind::Bool:
        return read_bool(call_, value, index);
      case ValueKind::Float:
        return read_double(call_, value, index);
      case ValueKind::Scalar:
        return read_scalar(call_, value, index);
      case ValueKind::Integer:
        return read_int(call_, value, index);
      case ValueKind::Device:
        return read_device(call_, value, index);
      case ValueKind::Generator:
        return read_generator(call_, value, index);
      case ValueKind::Storage:
        return read_storage(call_, value, index);
      case ValueKind::Stream:
        return read_stream(call_, value, index);
      case ValueKind::Text:
        return read_text(value, index);
    }
    refuse_type(type);
  }

  // The tensor of a handle, or the cell of a result; the flag tells whether it is computed.
  std::pair<const at::Tensor*, bool> find(napi_value value, size_t index) {
    double code = 0;
    if (napi_get_value_double(call_.env, value, &code) != napi_ok || code > async::kPending) {
      const at::Tensor& tensor = call_.tensor(value, index);
      // A later op may resize it through a view without a handle. The tensor itself is not examined: a step of another
      // strand may be using it.
      if (code > 0) step_.mutated.push_back(static_cast<handles::Handle>(code));
      return {&tensor, true};
    }
    bool is_there = false;
    const at::Tensor* tensor = step_.recording.find(code, &is_there);
    if (tensor == nullptr) throw PendingTensor(index);
    return {tensor, is_there};
  }

  IValue read_elements(napi_value value, size_t index, const TypePtr& element) {
    if (element->kind() == TypeKind::OptionalType) {
      const TypePtr& inner = element->castRaw<c10::OptionalType>()->getElementType();
      if (inner->kind() != TypeKind::TensorType) refuse_type(element);
      return read_tensors<c10::optional<at::Tensor>>(value, index);
    }
    switch (kind_of(element)) {
      case ValueKind::Tensor:
        return read_tensors<at::Tensor>(value, index);
      case ValueKind::Bool:
        return list_of<bool>(call_, value, index);
      case ValueKind::Float:
        return list_of<double>(call_, value, index);
      case ValueKind::Scalar:
        return list_of<at::Scalar>(call_, value, index);
      case ValueKind::Integer:
        return list_of<int64_t>(call_, value, index);
      case ValueKind::Text: {
        c10::List<std::string> list;
        const uint32_t length = list_length(call_, value, index, Base::Str);
        for (uint32_t i = 0; i < length; ++i) {
          list.push_back(read_text(list_element(call_, value, i), index).toStringRef());
        }
        return list;
      }
      default:
        refuse_type(element);
    }
  }

  template <class T>
  IValue read_tensors(napi_value value, size_t index) {
    c10::List<T> list;
    const uint32_t length = list_length(call_, value, index, Base::Tensor);
    for (uint32_t i = 0; i < length; ++i) {
      const napi_value element = list_element(call_, value, i);
      if constexpr (!std::is_same_v<T, at::Tensor>) {
        if (is_null_tensor(call_, element)) {
          list.push_back(c10::nullopt);
          continue;
        }
      }
      const auto [tensor, is_there] = find(element, index);
      list.push_back(is_there ? *tensor : at::Tensor());
      if (!is_there) step_.recording.put_later(list, i, *tensor);
    }
    return list;
  }

  // The dispatcher takes dimension names as strings.
  IValue read_text(napi_value value, size_t index) {
#ifdef LTN_HAS_DIMNAMES
    if (is_dimension_name(index)) return IValue(read_dimname(call_, value, index));
#endif
    return read_string(call_, value, index);
  }
  bool is_dimension_name(size_t index) const {
    const auto names = schema_arguments(call_.row->schema);
    return index < names.size() && names[index].type.rfind("Dimname", 0) == 0;
  }

  Call& call_;
  async::OpStep& step_;
};

}  // namespace

void read_arguments(Call& call, async::OpStep& step) {
  Reader reader(call, step);
  for (size_t i = 0; i < step.arguments.size(); ++i) reader.read(i);
}

}  // namespace ltn
