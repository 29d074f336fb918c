// Reads the elements of a tensor in a guard where they lie, which costs nanoseconds where ops cost microseconds.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ltn {

// Whether the elements are one after the other in memory, as they are.
inline bool are_plain(const at::Tensor& numbers) {
  return numbers.is_cpu() && numbers.layout() == at::kStrided && !numbers.is_nested() && !numbers.is_quantized() &&
         !numbers.is_neg() && !numbers._is_zerotensor() && numbers.has_storage() && numbers.is_contiguous();
}

template <class Number, class Test>
bool any_in_memory(const at::Tensor& numbers, Test test) {
  const Number* const first = numbers.data_ptr<Number>();
  const int64_t count = numbers.numel();
  bool found = false;
  for (int64_t i = 0; i < count; ++i) found |= test(first[i]);
  return found;
}

// Whether the test is true for an element of a plain tensor of integers of the signed types or bytes; `other` for other
// types.
template <class Test, class Other>
bool any_integer(const at::Tensor& numbers, Test test, Other other) {
  switch (numbers.scalar_type()) {
    case at::kByte:
      return any_in_memory<uint8_t>(numbers, test);
    case at::kChar:
      return any_in_memory<int8_t>(numbers, test);
    case at::kShort:
      return any_in_memory<int16_t>(numbers, test);
    case at::kInt:
      return any_in_memory<int32_t>(numbers, test);
    case at::kLong:
      return any_in_memory<int64_t>(numbers, test);
    default:
      return other();
  }
}

}  // namespace ltn
