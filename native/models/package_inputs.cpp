#include "native/models/package_inputs.h"

#include <algorithm>
#include <utility>

#include "native/convert/from_js.h"
#include "native/errors/describe_tensor.h"
#include "native/schema/dtypes.h"

namespace ltn::models {
namespace {

constexpr int64_t kUnbounded = (int64_t{1} << 53) - 1;

// Whether the tensor's elements fill one contiguous block, so that code which reads `numel()` elements stays inside it.
bool is_dense(const at::Tensor& tensor) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.size(i) > 1) dims.emplace_back(tensor.stride(i), tensor.size(i));
  }
  std::sort(dims.begin(), dims.end());
  int64_t filled = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != filled) return false;
    filled *= size;
  }
  return true;
}

template <class Write>
std::string bracketed(size_t count, const Write& write) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + write(i);
  return text + "]";
}

}  // namespace

bool InputForm::fits(const at::Tensor& tensor) const {
  if (tensor.scalar_type() != dtype || tensor.dim() != static_cast<int64_t>(sizes.size())) return false;
  bool all_strides = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = tensor.size(static_cast<int64_t>(i));
    if (size < sizes[i].least || size > sizes[i].most) return false;
  }
  if (tensor.numel() == 0) return true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    if (tensor.size(dim) <= 1) continue;  // the stride is not used
    all_strides &= sizes[i].stride >= 0;
    if (sizes[i].stride >= 0 && tensor.stride(dim) != sizes[i].stride) return false;
  }
  return all_strides || is_dense(tensor);
}

std::string InputForm::describe() const {
  const auto size = [&](size_t i) -> std::string {
    const auto [least, most, stride] = sizes[i];
    if (least == most) return std::to_string(least);
    if (least == 0 && most == kUnbounded) return "*";
    return std::to_string(least) + ".." + (most == kUnbounded ? "" : std::to_string(most));
  };
  const auto stride = [&](size_t i) { return sizes[i].stride < 0 ? "*" : std::to_string(sizes[i].stride); };
  return dtype_name(dtype) + bracketed(sizes.size(), size) + " with strides " + bracketed(sizes.size(), stride);
}

std::string describe_strided(const at::Tensor& tensor) {
  const auto strides = tensor.strides();
  const auto stride = [&](size_t i) { return std::to_string(strides[i]); };
  return describe_tensor(tensor) + " with strides " + bracketed(strides.size(), stride);
}

InputForms read_input_forms(Call& call, napi_value list, size_t index) {
  const uint32_t length = list_length(call, list, index, "a list of numbers");
  uint32_t at = 0;
  const auto next = [&]() -> int64_t {
    if (at >= length)
      throw CodedError("ERR_TORCH_INTERNAL",
                       "the forms of the inputs: expected a further number, got the end of the list");
    return read_int(call, list_element(call, list, at++), index);
  };
  InputForms forms;
  while (at < length) {
    const auto number = static_cast<size_t>(next());
    InputForm form{static_cast<c10::ScalarType>(next()), {}};
    for (int64_t left = next(); left > 0; --left) {
      const int64_t least = next();
      const int64_t most = next();
      form.sizes.push_back({least, most, next()});
    }
    forms.emplace(number, std::move(form));
  }
  return forms;
}

}  // namespace ltn::models
