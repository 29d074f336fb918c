#include <ATen/core/jit_type.h>

#include <cmath>
#include <string>
#include <utility>

#include "native/async/strand.h"
#include "native/convert/from_js.h"
#include "native/models/values.h"

namespace ltn::models {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

// Converts one argument list. Lifetime: a local of read_arguments(). Thread: the JS thread.
class Reader {
 public:
  Reader(Call& call, napi_value list, FoundTensors* found)
      : call_(call), list_(list), length_(list_length(call, list, 0, "a list of values")), found_(found) {}

  bool at_end() const noexcept { return at_ >= length_; }

  // Whether JavaScript passed `undefined` as the next argument.
  bool takes_omitted() {
    if (at_end() || static_cast<Tag>(read_int(call_, list_element(call_, list_, at_), argument_)) != Tag::Omitted)
      return false;
    ++at_;
    return true;
  }

  // `argument`: the index of the argument, for messages.
  IValue read(const TypePtr& type, size_t argument) {
    argument_ = argument;
    inside_ = 0;
    return read(type, take_tag(), 0);
  }

 private:
  napi_value take() {
    if (at_end()) throw CodedError("ERR_TORCH_INTERNAL", "the list of values is cut off");
    return list_element(call_, list_, at_++);
  }
  Tag take_tag() { return static_cast<Tag>(read_int(call_, take(), argument_)); }
  size_t take_length() { return static_cast<size_t>(read_int(call_, take(), argument_)); }

  [[noreturn]] void refuse(const TypePtr& type, Tag tag) { throw BadArgument(argument_, type->str(), describe(tag)); }

  std::string describe(Tag tag) {
    switch (tag) {
      case Tag::None:
        return "null";
      case Tag::False:
        return "false";
      case Tag::True:
        return "true";
      case Tag::Number:
      case Tag::BigInt:
      case Tag::Text:
        return describe_value(call_.env, take());
      case Tag::Tensor:
        return "a Tensor";
      case Tag::List:
        return "an array of " + std::to_string(take_length());
      case Tag::Dict:
        return "an object or Map";
      default:
        return "a complex number";
    }
  }

  IValue read(const TypePtr& type, Tag tag, int depth) {
    if (depth > kMaxDepth) {
      throw BadArgument(argument_, "values nested at most " + std::to_string(kMaxDepth) + " deep", "deeper nesting");
    }
    switch (type->kind()) {
      case TypeKind::OptionalType:
        if (tag == Tag::None) return IValue();
        return read(type->castRaw<c10::OptionalType>()->getElementType(), tag, depth + 1);
      case TypeKind::UnionType:
        for (const TypePtr& member : type->containedTypes()) {
          if (fits(member, tag)) return read(member, tag, depth + 1);
        }
        refuse(type, tag);
      case TypeKind::TensorType:
        return tag == Tag::Tensor ? read_tensor() : (refuse(type, tag), IValue());
      case TypeKind::ListType:
        return read_list(type, tag, depth);
      case TypeKind::TupleType:
        return read_tuple(type, tag, depth);
      case TypeKind::DictType:
        return read_dict(type, tag, depth);
      case TypeKind::AnyType:
        return infer(type, tag, depth);
      default:
        return read_plain(type, tag);
    }
  }

  IValue read_plain(const TypePtr& type, Tag tag) {
    const bool is_number = tag == Tag::Number || tag == Tag::BigInt;
    const bool is_bool = tag == Tag::True || tag == Tag::False;
    switch (type->kind()) {
      case TypeKind::NoneType:
        if (tag == Tag::None) return IValue();
        break;
      case TypeKind::BoolType:
        if (is_bool) return tag == Tag::True;
        break;
      case TypeKind::IntType:
        if (is_number) return read_int(call_, take(), argument_);
        break;
      case TypeKind::FloatType:
        if (is_number) return read_double(call_, take(), argument_);
        break;
      case TypeKind::NumberType:
        if (is_number) return read_scalar(call_, take(), argument_);
        if (is_bool) return tag == Tag::True;
        if (tag == Tag::Complex) return read_complex();
        break;
      case TypeKind::ComplexType:
        if (is_number) return c10::complex<double>(read_double(call_, take(), argument_), 0);
        if (tag == Tag::Complex) return read_complex();
        break;
      case TypeKind::StringType:
        if (tag == Tag::Text) return read_string(call_, take(), argument_);
        break;
      case TypeKind::DeviceObjType:
        if (tag == Tag::Text) return read_device(call_, take(), argument_);
        break;
      default:
        break;
    }
    refuse(type, tag);
  }

  // Whether a value with that tag can be of the type, for union types.
  static bool fits(const TypePtr& type, Tag tag) {
    switch (type->kind()) {
      case TypeKind::NoneType:
        return tag == Tag::None;
      case TypeKind::TensorType:
        return tag == Tag::Tensor;
      case TypeKind::BoolType:
        return tag == Tag::True || tag == Tag::False;
      case TypeKind::IntType:
      case TypeKind::FloatType:
      case TypeKind::NumberType:
        return tag == Tag::Number || tag == Tag::BigInt;
      case TypeKind::ComplexType:
        return tag == Tag::Complex;
      case TypeKind::StringType:
        return tag == Tag::Text;
      case TypeKind::ListType:
      case TypeKind::TupleType:
        return tag == Tag::List;
      case TypeKind::DictType:
        return tag == Tag::Dict;
      default:
        return false;
    }
  }

  IValue read_tensor() {
    const napi_value handle = take();
    double number = 0;
    const bool is_number = napi_get_value_double(call_.env, handle, &number) == napi_ok;
    if (is_number && number <= async::kPending && inside_ == 0) {
      found_->pending.push_back({argument_, number});
      return at::Tensor();
    }
    at::Tensor& tensor = call_.tensor(handle, argument_);
    if (is_number && number > 0) found_->handles.push_back(static_cast<handles::Handle>(number));
    return tensor;
  }

  IValue read_complex() {
    const double re = read_double(call_, take(), argument_);
    return c10::complex<double>(re, read_double(call_, take(), argument_));
  }

  IValue read_list(const TypePtr& type, Tag tag, int depth) {
    ++inside_;
    if (tag != Tag::List) refuse(type, tag);
    const TypePtr element = type->castRaw<c10::ListType>()->getElementType();
    c10::impl::GenericList list(element);
    for (size_t left = take_length(); left > 0; --left) list.push_back(read(element, take_tag(), depth + 1));
    return list;
  }

  IValue read_tuple(const TypePtr& type, Tag tag, int depth) {
    ++inside_;
    const auto tuple = type->cast<c10::TupleType>();
    const auto elements = tuple->elements();
    if (tag != Tag::List) refuse(type, tag);
    const size_t length = take_length();
    if (length != elements.size()) {
      throw BadArgument(argument_, type->str(), "an array of " + std::to_string(length));
    }
    std::vector<IValue> values;
    for (const TypePtr& element : elements) values.push_back(read(element, take_tag(), depth + 1));
    if (tuple->schema() != nullptr) return c10::ivalue::Tuple::createNamed(std::move(values), tuple);
    return c10::ivalue::Tuple::create(std::move(values));
  }

  IValue read_dict(const TypePtr& type, Tag tag, int depth) {
    ++inside_;
    if (tag != Tag::Dict) refuse(type, tag);
    const auto* dict_type = type->castRaw<c10::DictType>();
    c10::impl::GenericDict dict(dict_type->getKeyType(), dict_type->getValueType());
    for (size_t left = take_length(); left > 0; --left) {
      IValue key = read(dict_type->getKeyType(), take_tag(), depth + 1);
      dict.insert_or_assign(std::move(key), read(dict_type->getValueType(), take_tag(), depth + 1));
    }
    return dict;
  }

  // For an argument of type Any: converted as in Python, with lists and dicts of Any.
  IValue infer(const TypePtr& any, Tag tag, int depth) {
    switch (tag) {
      case Tag::None:
        return IValue();
      case Tag::False:
      case Tag::True:
        return tag == Tag::True;
      case Tag::Number:
      case Tag::BigInt:
        return read_scalar(call_, take(), argument_);
      case Tag::Text:
        return read_string(call_, take(), argument_);
      case Tag::Tensor:
        return read_tensor();
      case Tag::Complex:
        return read_complex();
      case Tag::List:
        return read_list(c10::ListType::create(any), tag, depth);
      default:
        return read_dict(c10::DictType::create(c10::StringType::get(), any), tag, depth);
    }
  }

  Call& call_;
  const napi_value list_;
  const uint32_t length_;
  FoundTensors* const found_;
  uint32_t at_ = 0;
  uint32_t inside_ = 0;  // number of containers of this argument so far
  size_t argument_ = 0;
};

}  // namespace

torch::jit::Stack read_arguments(Call& call, napi_value list, const Method& method, FoundTensors* found) {
  Reader reader(call, list, found);
  torch::jit::Stack stack;
  const auto arguments = method.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool omitted = reader.takes_omitted();
    if (!omitted && !reader.at_end()) {
      stack.push_back(reader.read(arguments[i].type(), i));
    } else if (arguments[i].default_value().has_value()) {
      stack.push_back(*arguments[i].default_value());
    } else if (omitted && arguments[i].type()->kind() == c10::TypeKind::OptionalType) {
      stack.emplace_back();
    } else {
      throw BadArgument(i, arguments[i].type()->str(), "nothing");
    }
  }
  if (!reader.at_end()) {
    throw CodedError("ERR_TORCH_ARGUMENT", "takes at most " + std::to_string(arguments.size()) +
                                               (arguments.size() == 1 ? " argument: " : " arguments: ") +
                                               method.schema);
  }
  return stack;
}

}  // namespace ltn::models
