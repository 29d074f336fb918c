// An op whose arguments are checked before libtorch reads them: the emitted guards of codegen/spec/guards.yaml.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "native/compat.h"
#include "native/ops/division.h"

namespace ltn {

// How large the last dimension is; 1 for a tensor without dimensions.
inline int64_t last_size(const at::Tensor& tensor) { return tensor.dim() == 0 ? 1 : tensor.size(-1); }

// Whether it is a matrix whose columns are `parts` parts of the same size.
inline bool has_columns_of(const at::Tensor& tensor, int64_t parts) {
  return tensor.dim() == 2 && tensor.size(1) % parts == 0;
}

// Whether it has room for 30 direction numbers for each dimension of a Sobol sequence.
inline bool is_sobol_state(const at::Tensor& tensor, int64_t dimension) {
  return tensor.dim() == 2 && dimension >= 0 && tensor.size(0) >= dimension && tensor.size(1) >= 30;
}

// Whether the points have numbers of at most 30 bits, as many as a state has direction numbers.
inline bool are_sobol_numbers(int64_t generated, int64_t more) {
  constexpr int64_t kMax = int64_t{1} << 30;
  return generated >= 0 && generated < kMax && more < kMax - generated;
}

// Whether a copy of a value can be made as libtorch does it: in a new storage of the size of the old one.
inline bool can_be_copied(const at::Tensor& self) { return !compat::kCopyTakesStorage || self.has_storage(); }

template <class Tensors>
bool can_all_be_copied(const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (!can_be_copied(tensor)) return false;
  }
  return true;
}

// Whether a tensor has memory for the bytes of its storage. Zeros that autograd makes have none.
inline bool has_memory(const at::Tensor& tensor) {
  if (!tensor.has_storage() || !tensor.is_cpu()) return true;
  return tensor.storage().nbytes() == 0 || tensor.storage().data() != nullptr;
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

template <class List>
bool has_length(const List& list, size_t length) {
  return list.size() == length;
}

inline bool has_dim(const at::Tensor& tensor, int64_t dim) {
  const int64_t count = std::max<int64_t>(tensor.dim(), 1);
  return -count <= dim && dim < count;
}

// Whether they are dimensions of the tensor, counted from 0.
template <class Dims>
bool has_dims(const at::Tensor& tensor, const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [&](const auto& dim) { return 0 <= number_of(dim) && number_of(dim) < tensor.dim(); });
}

// Whether the last of the dimensions, which are in range, has the half of a spectrum of `size` numbers.
template <class Dims, class Number>
bool holds_half_spectrum(const at::Tensor& tensor, const Dims& dims, const Number& size) {
  if (dims.empty() || number_of(size) <= 0) return false;
  const bool has_numbers =
      std::all_of(dims.begin(), dims.end(), [&](const auto& dim) { return tensor.size(number_of(dim)) > 0; });
  return has_numbers && tensor.size(number_of(dims.back())) > number_of(size) / 2;
}

template <class Number>
bool are_groups(const at::Tensor& tensor, const Number& groups) {
  const int64_t count = number_of(groups);
  return count > 0 && tensor.dim() > 2 && tensor.size(0) > 0 && tensor.size(1) > 0 && tensor.size(1) % count == 0;
}

// Whether there is a distance for each pair of the rows of a matrix.
inline bool has_pairs(const at::Tensor& rows, const at::Tensor& distances) {
  return rows.dim() == 2 && rows.size(0) > 0 && distances.numel() == rows.size(0) * (rows.size(0) - 1) / 2;
}

// Whether each part of `v` along the dimension, -1 for the whole of it, has a number in `g`.
inline bool is_weight_norm(const at::Tensor& v, const at::Tensor& g, int64_t dim) {
  return dim == -1 || (has_dim(v, dim) && v.dim() > 0 && v.size(dim) > 0 && g.numel() == v.size(dim));
}

// Whether a result of the sizes of `self` can be written there as it is.
inline bool takes_sums(const at::Tensor& self, const at::Tensor& result, at::ScalarType dtype) {
  return result.layout() == at::kStrided && result.scalar_type() == dtype && result.sizes() == self.sizes();
}

// An optional parameter of a batch norm: a number for each channel.
template <class Optional>
bool is_for_channels(const at::Tensor& input, const Optional& parameter) {
  return !parameter.has_value() || !parameter->defined() || parameter->numel() == input.size(1);
}

template <class... Optional>
bool is_batch(const at::Tensor& input, const Optional&... parameters) {
  return input.dim() >= 2 && input.numel() > 0 && (is_for_channels(input, parameters) && ...);
}

// Whether a guard can read the elements. The op itself refuses tensors without memory or integers.
inline bool are_readable(const at::Tensor& numbers) {
  return numbers.numel() > 0 && numbers.is_cpu() && numbers.layout() == at::kStrided && !numbers.is_nested() &&
         at::isIntegralType(numbers.scalar_type(), false);
}

// Whether all numbers that can be read are at least `least` and at most `most`.
inline bool all_between(const at::Tensor& numbers, int64_t least, int64_t most) {
  if (!are_readable(numbers)) return true;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  return numbers.min().item<int64_t>() >= least && numbers.max().item<int64_t>() <= most;
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

// How many packed rows there are at each step of a recurrent net: a vector, of which the kernel reads the first.
inline bool are_batch_sizes(const at::Tensor& sizes) {
  return sizes.layout() == at::kStrided && !sizes.is_nested() && sizes.dim() == 1 && sizes.numel() > 0;
}

// Whether there is a number for each row of a layer norm over the last `dims` dimensions. Of too few the op itself
// tells.
inline bool has_row_statistics(const at::Tensor& input, size_t dims, const at::Tensor& mean, const at::Tensor& rstd) {
  if (static_cast<size_t>(input.dim()) < dims) return true;
  const int64_t rows = c10::multiply_integers(input.sizes().slice(0, static_cast<size_t>(input.dim()) - dims));
  return mean.numel() == rows && rstd.numel() == rows;
}

// The row exchanges of an LDL factorization of n rows: 1 to n, or -n to -1 for a block of two.
inline bool are_block_pivots(const at::Tensor& pivots, const at::Tensor& factors) {
  if (factors.dim() < 2 || !are_readable(pivots)) return true;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  return all_between(pivots.to(at::kLong).abs(), 1, factors.size(-2));
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

// The steps of a recurrence that a call may take for each element: milliseconds.
constexpr int64_t kMaxDegree = int64_t{1} << 20;

// NaN is a degree that the kernel takes for one below 0.
inline bool is_degree(const at::Scalar& degree) {
  return degree.isComplex() || !(degree.to<double>() > static_cast<double>(kMaxDegree));
}

inline bool holds_degrees(const at::Tensor& degrees) {
  if (degrees.numel() == 0 || !degrees.is_cpu() || degrees.layout() != at::kStrided || degrees.is_quantized() ||
      degrees.is_complex()) {
    return true;
  }
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  return !degrees.to(at::kDouble).gt(static_cast<double>(kMaxDegree)).any().item<bool>();
}

// The labels that a CTC loss reads: the first `lengths[i]` of row i, or, of a vector, as many as all lengths together.
inline bool has_labels(const at::Tensor& log_probs, const at::Tensor& targets, at::IntArrayRef lengths) {
  if (log_probs.dim() == 0 || targets.dim() > 2 || !targets.is_cpu()) return true;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  const int64_t labels = log_probs.size(-1);
  if (targets.dim() < 2) return all_below(targets, labels);
  for (int64_t i = 0; i < targets.size(0) && i < static_cast<int64_t>(lengths.size()); ++i) {
    const int64_t length = std::min(lengths[static_cast<size_t>(i)], targets.size(1));
    if (length > 0 && !all_below(targets.select(0, i).narrow(0, 0, length), labels)) return false;
  }
  return true;
}

// Whether a guard can read the lengths. The op itself refuses other tensors, because it expects integers.
inline bool are_lengths(const at::Tensor& lengths) {
  return lengths.is_cpu() && lengths.layout() == at::kStrided && at::isIntegralType(lengths.scalar_type(), false);
}

inline bool has_labels(const at::Tensor& log_probs, const at::Tensor& targets, const at::Tensor& lengths) {
  if (!are_lengths(lengths)) return true;
  const at::Tensor list = lengths.to(at::kLong).contiguous();
  return has_labels(log_probs, targets, at::IntArrayRef(list.data_ptr<int64_t>(), static_cast<size_t>(list.numel())));
}

// The sizes before the last `count` dimensions, of which it has as many.
inline at::IntArrayRef first_sizes(const at::Tensor& tensor, size_t count) {
  return tensor.sizes().slice(0, static_cast<size_t>(tensor.dim()) - count);
}

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

inline bool holds_windows(const at::Tensor& windows, int64_t size) {
  return windows.dim() == 0 ? size <= 1 : windows.size(-1) >= size;
}

// Whether the indices are places in the last dimensions of a tensor. The op itself refuses too few dimensions.
inline bool are_places(const at::Tensor& self, const at::Tensor& indices, size_t dims) {
  if (static_cast<size_t>(self.dim()) < dims) return true;
  return all_below(indices, c10::multiply_integers(self.sizes().slice(static_cast<size_t>(self.dim()) - dims)));
}

// Whether the gradient and the indices are those of a pool over the last dimensions. The op itself refuses too few
// dimensions.
inline bool is_pool_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& indices, size_t dims) {
  if (static_cast<size_t>(self.dim()) <= dims || grad.dim() != self.dim()) return true;
  return indices.sizes() == grad.sizes() && first_sizes(grad, dims) == first_sizes(self, dims) &&
         are_places(self, indices, dims);
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

inline bool are_equations(const at::Tensor& self, const at::Tensor& matrices) {
  if (self.dim() < 2 || matrices.dim() < 2) return true;  // the op itself refuses it
  return matrices.size(-1) == matrices.size(-2) && self.size(-2) == matrices.size(-1) &&
         first_sizes(self, 2) == first_sizes(matrices, 2);
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

// Whether `self` can become a view of the memory of `source`. Only if its sizes change, the op enlarges what is too
// small. It refuses a negative offset.
template <class Number, class Sizes, class Strides>
bool can_be_set(const at::Tensor& self, const at::Tensor& source, const Number& offset, const Sizes& sizes,
                const Strides& strides) {
  if (!has_memory(source)) return false;
  const std::vector<int64_t> wanted = numbers_of(sizes);
  if (number_of(offset) < 0 || self.sizes() != at::IntArrayRef(wanted)) return true;
  const auto own = strides.empty() ? self.strides().vec() : numbers_of(strides);
  return fits_storage(source, number_of(offset), wanted, own);
}

// Whether the arguments are those of a CTC loss and of its result, by their sizes. Labels: has_labels.
inline bool is_ctc_gradient(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets,
                            at::IntArrayRef input_lengths, at::IntArrayRef target_lengths, const at::Tensor& loss,
                            const at::Tensor& log_alpha, int64_t blank) {
  if (log_probs.dim() != 3 || log_alpha.dim() != 3) return true;  // the op itself refuses it
  const int64_t steps = log_probs.size(0);
  const int64_t batch = log_probs.size(1);
  const auto is_of_batch = [&](int64_t count) { return count == batch; };
  if (!is_of_batch(grad.numel()) || !is_of_batch(loss.numel()) || !is_of_batch(log_alpha.size(0)) ||
      !is_of_batch(static_cast<int64_t>(input_lengths.size())) ||
      !is_of_batch(static_cast<int64_t>(target_lengths.size())) || log_alpha.size(1) < steps || blank < 0 ||
      blank >= log_probs.size(2) || (targets.dim() == 2 && targets.size(0) != batch)) {
    return false;
  }
  int64_t labels = 0;
  for (size_t i = 0; i < target_lengths.size(); ++i) {
    const int64_t length = target_lengths[i];
    if (length < 0 || length > targets.numel() - labels || length >= (log_alpha.size(2) + 1) / 2) return false;
    if (targets.dim() == 2 && length > targets.size(1)) return false;
    if (input_lengths[i] < 0 || input_lengths[i] > steps) return false;
    labels += length;
  }
  return true;
}

inline bool is_ctc_gradient(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets,
                            const at::Tensor& input_lengths, const at::Tensor& target_lengths, const at::Tensor& loss,
                            const at::Tensor& log_alpha, int64_t blank) {
  if (!are_lengths(input_lengths) || !are_lengths(target_lengths)) return true;
  const at::Tensor inputs = input_lengths.to(at::kLong).contiguous();
  const at::Tensor labels = target_lengths.to(at::kLong).contiguous();
  const auto as_list = [](const at::Tensor& lengths) {
    return at::IntArrayRef(lengths.data_ptr<int64_t>(), static_cast<size_t>(lengths.numel()));
  };
  return is_ctc_gradient(grad, log_probs, targets, as_list(inputs), as_list(labels), loss, log_alpha, blank);
}

// Check::check throws c10::Error for arguments that the kernel of `function` does not survive.
template <auto function, class Check>
struct Guarded;

template <class R, class... A, R (*function)(A...), class Check>
struct Guarded<function, Check> {
  // With the signature of `function`.
  static R call(A... arguments) {
    Check::check(arguments...);
    return function(std::forward<A>(arguments)...);
  }

  // For a recorded op, which is called through the dispatcher (OpRow::check).
  static void check_boxed(const c10::OperatorHandle& op, const std::vector<c10::IValue>& stack) {
    // One in the process, shared by all threads; it does not change.
    static const auto kernel = c10::KernelFunction::makeFromUnboxedRuntimeFunction(&check);
    std::vector<c10::IValue> arguments = stack;
    kernel.callBoxed(op, c10::DispatchKeySet(), &arguments);
  }

 private:
  static void check(A... arguments) { Check::check(arguments...); }
};

}  // namespace ltn
