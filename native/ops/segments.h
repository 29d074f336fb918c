// Guards of reductions by segments, whose kernels read the data where lengths or offsets say it lies.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "native/ops/conditions.h"

namespace ltn {

// Whether none of the lengths is negative and all together are at most `size`.
inline bool are_row_lengths(const int64_t* lengths, int64_t count, int64_t size) {
  int64_t left = size;
  for (int64_t i = 0; i < count; ++i) {
    if (lengths[i] < 0 || lengths[i] > left) return false;
    left -= lengths[i];
  }
  return true;
}

// Whether there is an offset at all, and each is a place in a row of `size` numbers or its end.
inline bool are_row_offsets(const int64_t* offsets, int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; ++i) {
    if (offsets[i] < 0 || offsets[i] > size) return false;
  }
  return count > 0;
}

// Whether the test is true for each row of a tensor whose sizes are those of the data up to the axis, its own last
// dimension. `test` gets the numbers of the row, how many they are, and the size of the data along the axis.
template <class Test>
bool are_segment_rows(const at::Tensor& data, const at::Tensor& numbers, int64_t axis, Test test) {
  if (!has_dim(data, axis) || !are_lengths(numbers)) return false;
  const int64_t dim = axis < 0 ? axis + data.dim() : axis;
  if (data.dim() == 0 || numbers.dim() != dim + 1 || first_sizes(numbers, 1) != data.sizes().slice(0, dim)) {
    return false;
  }
  const at::Tensor plain = longs_of(numbers);
  const int64_t count = plain.size(-1);
  const int64_t rows = c10::multiply_integers(first_sizes(plain, 1));
  const int64_t* const first = plain.data_ptr<int64_t>();
  for (int64_t row = 0; row < rows; ++row) {
    if (!test(first + row * count, count, data.size(dim))) return false;
  }
  return true;
}

// Whether lengths and offsets, as far as they are given, are segments of the data.
template <class Optional>
bool are_segments(const at::Tensor& data, const Optional& lengths, const Optional& offsets, int64_t axis) {
  const auto is_given = [](const Optional& numbers) { return numbers.has_value() && numbers->defined(); };
  if (!data.is_cpu() || data.is_nested()) return true;  // for them there is no kernel
  return (!is_given(lengths) || are_segment_rows(data, *lengths, axis, are_row_lengths)) &&
         (!is_given(offsets) || are_segment_rows(data, *offsets, axis, are_row_offsets));
}

// Whether a tensor has the sizes of the result: those of the data, along the axis as many as there are segments.
inline bool is_for_segments(const at::Tensor& result, const at::Tensor& data, const at::Tensor& numbers,
                            int64_t count) {
  const int64_t dim = numbers.dim() - 1;
  return result.dim() == data.dim() && result.sizes().slice(0, dim) == data.sizes().slice(0, dim) &&
         result.size(dim) == count && result.sizes().slice(dim + 1) == data.sizes().slice(dim + 1);
}

// Whether the arguments are those of a reduction and of its gradient. The kernel prefers offsets.
template <class Optional>
bool is_segment_gradient(const at::Tensor& grad, const at::Tensor& output, const at::Tensor& data,
                         const Optional& lengths, const Optional& offsets, int64_t axis) {
  if (!data.is_cpu() || data.is_nested()) return true;
  if (!are_segments(data, lengths, offsets, axis)) return false;
  const bool has_offsets = offsets.has_value() && offsets->defined();
  if (!has_offsets && !(lengths.has_value() && lengths->defined())) return false;
  const at::Tensor& numbers = has_offsets ? *offsets : *lengths;
  const int64_t count = numbers.size(-1) - (has_offsets ? 1 : 0);
  return is_for_segments(grad, data, numbers, count) && is_for_segments(output, data, numbers, count);
}

}  // namespace ltn
