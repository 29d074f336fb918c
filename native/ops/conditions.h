// Conditions on the arguments of an op that more than one kernel relies on (codegen/spec/guards).
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "native/compat.h"
#include "native/ops/elements.h"

namespace ltn {

// How large the last dimension is; 1 for a tensor without dimensions.
inline int64_t last_size(const at::Tensor& tensor) { return tensor.dim() == 0 ? 1 : tensor.size(-1); }

// Whether a copy of a value can be made as libtorch does it: in a new storage of the size of the old one.
inline bool can_be_copied(const at::Tensor& self) { return !compat::kCopyTakesStorage || self.has_storage(); }

template <class Tensors>
bool can_all_be_copied(const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (!can_be_copied(tensor)) return false;
  }
  return true;
}

// Whether it is the storage of zeros that autograd makes. Such a storage cannot grow: its allocator was on a stack.
// What it was given, nothing, has a deleter of its own.
inline bool is_of_zeros(const at::Storage& storage) {
  static const at::DeleterFnPtr deleter = [] {
    const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
    return at::_efficientzerotensor({0}).storage().data_ptr().get_deleter();
  }();
  return storage.data_ptr().get_deleter() == deleter;
}

// Whether a tensor has memory for the bytes of its storage, and can get more. Zeros that autograd makes have none.
inline bool has_memory(const at::Tensor& tensor) {
  if (!tensor.has_storage() || !tensor.is_cpu()) return true;
  const at::Storage& storage = tensor.storage();
  return storage.nbytes() == 0 ? !is_of_zeros(storage) : storage.data() != nullptr;
}

// `Tensors` is a TensorList, or the list of tensors that later releases use.
template <class Tensors>
bool all_have_dimensions(const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.dim() == 0) return false;
  }
  return true;
}

// A number that libtorch declares as an int64_t or, in later releases, as a SymInt, which is never symbolic here.
inline int64_t number_of(int64_t number) { return number; }
inline int64_t number_of(const c10::SymInt& number) { return number.expect_int(); }

// Whether none is negative.
template <class List>
bool are_sizes(const List& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](const auto& size) { return number_of(size) >= 0; });
}

template <class List>
bool has_length(const List& list, size_t length) {
  return list.size() == length;
}

inline bool has_dim(const at::Tensor& tensor, int64_t dim) {
  const int64_t count = std::max<int64_t>(tensor.dim(), 1);
  return -count <= dim && dim < count;
}

// Whether the dimension, the last if there is none, has elements. The op itself refuses one that the tensor lacks.
template <class Optional>
bool has_elements_along(const at::Tensor& tensor, const Optional& dim) {
  const int64_t given = dim.has_value() ? *dim : -1;
  return tensor.dim() == 0 || !has_dim(tensor, given) || tensor.size(given) > 0;
}

// Whether they are dimensions of the tensor, counted from 0.
template <class Dims>
bool has_dims(const at::Tensor& tensor, const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [&](const auto& dim) { return 0 <= number_of(dim) && number_of(dim) < tensor.dim(); });
}

// Whether a result of the sizes of `self` can be written there as it is.
inline bool takes_sums(const at::Tensor& self, const at::Tensor& result, at::ScalarType dtype) {
  return result.layout() == at::kStrided && !result.is_neg() && !result.is_conj() && result.scalar_type() == dtype &&
         result.sizes() == self.sizes();
}

// Whether a guard can read the elements. The op itself refuses tensors without memory or integers.
inline bool are_readable(const at::Tensor& numbers) {
  return numbers.numel() > 0 && numbers.is_cpu() && numbers.layout() == at::kStrided && !numbers.is_nested() &&
         at::isIntegralType(numbers.scalar_type(), false);
}

// Whether all numbers that can be read are at least `least` and at most `most`.
inline bool all_between(const at::Tensor& numbers, int64_t least, int64_t most) {
  if (!are_readable(numbers)) return true;
  const auto by_ops = [&] {
    const at::NoGradGuard no_grad;
    const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
    return numbers.min().item<int64_t>() < least || numbers.max().item<int64_t>() > most;
  };
  if (!are_plain(numbers)) return !by_ops();
  const auto is_outside = [=](int64_t number) { return (number < least) | (number > most); };
  return !any_integer(numbers, is_outside, by_ops);
}

// The range of the numbers, for the message of a guard that refuses them.
inline std::string values_of(const at::Tensor& numbers) {
  if (!are_readable(numbers)) return c10::str("a tensor of ", numbers.sizes());
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a message is not one of the program's ops
  return c10::str("values from ", numbers.min().item<int64_t>(), " to ", numbers.max().item<int64_t>());
}

template <class Optional>
std::string values_of(const Optional& numbers) {
  return numbers.has_value() ? values_of(static_cast<const at::Tensor&>(*numbers)) : std::string("none");
}

// Whether 1 can be added to each.
inline bool all_below_max(const at::Tensor& numbers) {
  using Limits = std::numeric_limits<int64_t>;
  return all_between(numbers, Limits::min(), Limits::max() - 1);
}

// The same for at least 0 and below the bound.
inline bool all_below(const at::Tensor& numbers, int64_t bound) { return all_between(numbers, 0, bound - 1); }

// An optional tensor of indices.
template <class Optional>
bool may_be_below(const Optional& numbers, int64_t bound) {
  return !numbers.has_value() || !numbers->defined() || all_below(*numbers, bound);
}

template <class Number>
bool holds_below(const at::Tensor& numbers, const Number& bound) {
  return all_below(numbers, number_of(bound));
}

// Whether a constructor's arguments are those of a sparse tensor, by libtorch's own check.
template <class Check>
bool is_valid(const Check& check) {
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  try {
    check();
  } catch (const c10::Error&) {  // what is wrong is in the message of the op that checks
    return false;
  }
  return true;
}

template <class List>
std::vector<int64_t> numbers_of(const List& list) {
  std::vector<int64_t> numbers;
  for (const auto& one : list) numbers.push_back(number_of(one));
  return numbers;
}

// Whether a guard can read the lengths. The op itself refuses other tensors, because it expects integers.
inline bool are_lengths(const at::Tensor& lengths) {
  return lengths.is_cpu() && lengths.layout() == at::kStrided && at::isIntegralType(lengths.scalar_type(), false);
}

// Such lengths, one after the other in memory: those of a view that negates, or of zeros without memory, too.
inline at::Tensor longs_of(const at::Tensor& lengths) {
  if (lengths.scalar_type() == at::kLong && are_plain(lengths)) return lengths;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  return at::empty(lengths.sizes(), at::kLong).copy_(lengths);
}

// The sizes before the last `count` dimensions, of which it has as many.
inline at::IntArrayRef first_sizes(const at::Tensor& tensor, size_t count) {
  return tensor.sizes().slice(0, static_cast<size_t>(tensor.dim()) - count);
}

// Whether `set_` to these sizes, which are those of the tensor already, stays in the storage. Libtorch makes the
// storage larger for others, which that of zeros without memory cannot be.
template <class Offset, class Sizes, class Strides>
bool stays_in_storage(const at::Tensor& self, const at::Storage& source, const Offset& offset, const Sizes& sizes,
                      const Strides& strides) {
  if (is_of_zeros(source)) return false;
  if (numbers_of(sizes) != self.sizes() || self.numel() == 0) return true;
  if (!strides.empty() && numbers_of(strides) != self.strides()) return true;
  int64_t last = number_of(offset);
  int64_t next = 1;  // the stride of a contiguous tensor
  for (int64_t i = self.dim() - 1; i >= 0; --i) {
    int64_t reach = 0;
    const int64_t stride = strides.empty() ? next : self.stride(i);
    if (__builtin_mul_overflow(self.size(i) - 1, stride, &reach) || __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
    next *= self.size(i);
  }
  return last < static_cast<int64_t>(source.nbytes() / self.element_size());
}

// Whether `self` can become a view of the memory of `source`. Only if its sizes change, the op enlarges what is too
// small. It refuses a negative offset.
template <class Number, class Sizes, class Strides>
bool can_be_set(const at::Tensor& self, const at::Tensor& source, const Number& offset, const Sizes& sizes,
                const Strides& strides) {
  if (!has_memory(source)) return false;
  return !source.has_storage() || number_of(offset) < 0 ||
         stays_in_storage(self, source.storage(), offset, sizes, strides);
}

// Whether no tensor of a list with gaps is one of zeros without memory. They are read in place, because a copy counts
// references.
inline bool have_memory(const c10::List<c10::optional<at::Tensor>>& tensors) {
  for (auto element = tensors.begin(); element != tensors.end(); ++element) {
    const auto reference = *element;
    const c10::IValue& value = reference.get();
    if (value.isTensor() && value.toTensor()._is_zerotensor()) return false;
  }
  return true;
}

// Whether a guard can read the elements, and they may be NaN or infinite.
inline bool are_readable_floats(const at::Tensor& numbers) {
  return numbers.is_cpu() && numbers.layout() == at::kStrided && !numbers.is_quantized() &&
         (at::isFloatingType(numbers.scalar_type()) || numbers.is_complex());
}

// Whether an element is NaN.
inline bool has_nan(const at::Tensor& numbers) {
  if (!are_readable_floats(numbers)) return false;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  return numbers.isnan().any().item<bool>();
}

// Whether no element is NaN or infinite. True for a tensor that cannot be read here, or of integers.
inline bool is_finite(const at::Tensor& numbers) {
  if (!are_readable_floats(numbers)) return true;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  return numbers.isfinite().all().item<bool>();
}

// Whether a view with these sizes and strides, which are as many, lies in the memory of the tensor.
template <class Sizes, class Strides>
bool fits_storage(const at::Tensor& self, int64_t offset, const Sizes& sizes, const Strides& strides) {
  if (sizes.size() != strides.size() || !self.has_storage() || !self.is_cpu()) return true;
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (number_of(sizes[i]) <= 0) return true;  // the op itself refuses negative sizes
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t stride = number_of(strides[i]);
    int64_t reach = 0;
    if (stride < 0 || __builtin_mul_overflow(number_of(sizes[i]) - 1, stride, &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  return static_cast<uint64_t>(last) < self.storage().nbytes() / self.element_size();
}

}  // namespace ltn
