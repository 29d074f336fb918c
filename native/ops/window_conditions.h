// Conditions of paddings, windows, pools and resampling (codegen/spec/guards).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "native/ops/conditions.h"

namespace ltn {

// Whether the gradient is that of a tensor, or of a batch, padded by two numbers for each dimension, from the last.
// The op itself refuses too few dimensions.
template <class Padding>
bool is_of_padded(const at::Tensor& grad, const at::Tensor& self, const Padding& padding) {
  const size_t padded = padding.size() / 2;
  const auto dims = static_cast<size_t>(self.dim());
  if (dims <= padded) return true;
  if (dims > padded + 2 || grad.dim() != self.dim() || first_sizes(grad, padded) != first_sizes(self, padded)) {
    return false;
  }
  for (size_t i = 0; i < padded; ++i) {
    int64_t size = self.size(-1 - static_cast<int64_t>(i));
    if (__builtin_add_overflow(size, number_of(padding[2 * i]), &size) ||
        __builtin_add_overflow(size, number_of(padding[2 * i + 1]), &size) ||
        grad.size(-1 - static_cast<int64_t>(i)) != size) {
      return false;
    }
  }
  return true;
}

// Whether the padded sizes, of which each is a sum of three numbers, do not overflow.
template <class Padding>
bool are_paddings(const Padding& padding) {
  constexpr int64_t kMax = int64_t{1} << 60;
  return std::all_of(padding.begin(), padding.end(),
                     [](const auto& one) { return -kMax <= number_of(one) && number_of(one) <= kMax; });
}

template <class Padding>
bool is_reflected(const at::Tensor& grad, const at::Tensor& self, const Padding& padding) {
  if (!is_of_padded(grad, self, padding)) return false;
  const size_t padded = padding.size() / 2;
  if (static_cast<size_t>(self.dim()) <= padded || (grad.numel() == 0 && self.numel() == 0)) return true;
  for (size_t i = 0; i < padded; ++i) {
    const int64_t size = self.size(-1 - static_cast<int64_t>(i));
    if (number_of(padding[2 * i]) >= size || number_of(padding[2 * i + 1]) >= size) return false;
  }
  return true;
}

template <class Padding>
bool is_replicated(const at::Tensor& grad, const at::Tensor& self, const Padding& padding) {
  return is_of_padded(grad, self, padding) && (grad.numel() == 0 || self.numel() > 0);
}

// Whether these are the windows that unfold makes of a tensor of these sizes, with a step of at least 1.
template <class Sizes>
bool are_windows(const at::Tensor& windows, const Sizes& sizes, int64_t dim, int64_t size, int64_t step) {
  const auto dims = static_cast<int64_t>(sizes.size());
  const int64_t at = dim < 0 ? dim + std::max<int64_t>(dims, 1) : dim;
  if (windows.dim() != dims + 1 || at < 0 || at >= std::max<int64_t>(dims, 1)) {
    return false;
  }
  const int64_t whole = dims == 0 ? 1 : number_of(sizes[static_cast<size_t>(at)]);
  if (size < 0 || size > whole || windows.size(-1) != size) return false;
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t expected = i == at ? (whole - size) / step + 1 : number_of(sizes[static_cast<size_t>(i)]);
    if (windows.size(i) != expected) return false;
  }
  return true;
}

// Whether a linear interpolation by these scales, an absent one being the ratio of the sizes, reads no number past the
// end of the input. The op itself refuses sizes that do not fit.
template <class Input, class Output>
bool scales_inside(const Input& input, const Output& output, bool align_corners,
                   std::initializer_list<c10::optional<double>> scales) {
  const size_t dims = output.size();
  if (align_corners || dims != scales.size() || input.size() != dims + 2) return true;
  for (size_t i = 0; i < dims; ++i) {
    const c10::optional<double>& scale = scales.begin()[i];
    const auto from = static_cast<double>(number_of(input[i + 2]));
    const auto to = static_cast<double>(number_of(output[i]));
    if (!scale.has_value() || !(*scale > 0) || from == to) continue;
    if (!((to - 0.5) / *scale - 0.5 < from)) return false;
  }
  return true;
}

// Whether the indices are places in the last dimensions of a tensor. The op itself refuses too few dimensions.
inline bool are_places(const at::Tensor& self, const at::Tensor& indices, size_t dims) {
  if (static_cast<size_t>(self.dim()) < dims) return true;
  return all_below(indices, c10::multiply_integers(self.sizes().slice(static_cast<size_t>(self.dim()) - dims)));
}

// Whether the gradient and the indices are those of a pool over the last dimensions. The op itself refuses too few
// dimensions.
inline bool is_pool_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& indices, size_t dims) {
  if (static_cast<size_t>(self.dim()) < dims) return true;
  return grad.dim() == self.dim() && indices.sizes() == grad.sizes() &&
         first_sizes(grad, dims) == first_sizes(self, dims) && are_places(self, indices, dims);
}

// Whether there is a plane of the gradient, of the last dimensions, for each plane of the tensor, both with elements.
inline bool is_gradient_of_planes(const at::Tensor& grad, const at::Tensor& self, size_t dims) {
  const auto count = static_cast<size_t>(self.dim());
  return (count == dims + 1 || count == dims + 2) && grad.dim() == self.dim() &&
         first_sizes(grad, dims) == first_sizes(self, dims) && (grad.numel() == 0) == (self.numel() == 0);
}

// Whether there are random numbers from 0 to 1 for each of the last dimensions of each plane, or more.
inline bool are_samples(const at::Tensor& self, const at::Tensor& samples, size_t dims) {
  if (static_cast<size_t>(self.dim()) <= dims || !samples.is_cpu() || samples.layout() != at::kStrided) return true;
  if (!at::isFloatingType(samples.scalar_type())) return true;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  return samples.numel() >= c10::multiply_integers(first_sizes(self, dims)) * static_cast<int64_t>(dims) &&
         samples.ge(0).logical_and(samples.le(1)).all().item<bool>();
}

// Whether a pool's numbers fit an int, as does the span of its window. Libtorch's division of the sizes goes through
// one.
template <class Kernel, class Stride, class Padding, class Dilation>
bool are_window_sizes(const Kernel& kernel, const Stride& stride, const Padding& padding, const Dilation& dilation) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const auto fit = [](const auto& list) {
    return std::all_of(list.begin(), list.end(), [](const auto& one) {
      const int64_t number = number_of(one);
      return -kMax <= number && number <= kMax;
    });
  };
  if (!fit(kernel) || !fit(stride) || !fit(padding) || !fit(dilation)) return false;
  for (const auto& size : kernel) {
    for (const auto& factor : dilation) {
      if (number_of(size) * number_of(factor) > kMax) return false;
    }
  }
  return true;
}

// Whether sums of a few of the numbers fit an int.
template <class... Lists>
bool are_small(const Lists&... lists) {
  const auto fit = [](const auto& list) {
    return std::all_of(list.begin(), list.end(), [](const auto& one) { return number_of(one) < (int64_t{1} << 28); });
  };
  return (fit(lists) && ...);
}

template <class List>
bool are_all_positive(const List& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](const auto& size) { return number_of(size) > 0; });
}

// Whether there is a number in each list for each dimension that the window of a convolution moves along.
template <class Stride, class Padding, class Dilation>
bool is_convolution(const at::Tensor& self, const at::Tensor& weight, const Stride& stride, const Padding& padding,
                    const Dilation& dilation) {
  if (self.dim() < 3 || weight.dim() < self.dim()) return false;
  const auto count = static_cast<size_t>(self.dim() - 2);
  return has_length(stride, count) && has_length(padding, count) && has_length(dilation, count);
}

// Whether planes of these sizes are walked over in milliseconds if they have no elements. Others are limited by memory.
template <class Sizes>
bool are_plane_sizes(const Sizes& sizes) {
  constexpr int64_t kMax = int64_t{1} << 24;
  const auto any = [&](const auto& matches) {
    return std::any_of(sizes.begin(), sizes.end(), [&](const auto& size) { return matches(number_of(size)); });
  };
  return !any([](int64_t size) { return size > kMax; }) || !any([](int64_t size) { return size == 0; });
}

}  // namespace ltn
