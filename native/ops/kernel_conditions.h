// Conditions that single kernels, or those of one family, rely on (codegen/spec/guards).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "native/ops/conditions.h"

namespace ltn {

// Whether it is a matrix whose columns are `parts` parts of the same size.
inline bool has_columns_of(const at::Tensor& tensor, int64_t parts) {
  return tensor.dim() == 2 && tensor.size(1) % parts == 0;
}

// An optional tensor of at most one dimension.
template <class Optional>
bool is_vector(const Optional& tensor) {
  return !tensor.has_value() || !tensor->defined() || tensor->dim() <= 1;
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

// Whether there is a distance, and a gradient, for each pair of a row of `x1` and one of `x2`. The op itself refuses
// too few dimensions, and batches that do not fit.
inline bool are_distances(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2,
                          const at::Tensor& distances) {
  if (x1.dim() < 2 || x2.dim() < 2) return true;
  if (x1.size(-1) != x2.size(-1)) return false;
  std::vector<int64_t> pairs{x1.size(-2), x2.size(-2)};
  const size_t batches = static_cast<size_t>(std::max(x1.dim(), x2.dim())) - 2;
  for (size_t i = 0; i < batches; ++i) {
    const auto size_of = [i](const at::Tensor& x) {
      return static_cast<int64_t>(i) + 2 < x.dim() ? x.size(-3 - static_cast<int64_t>(i)) : int64_t{1};
    };
    pairs.insert(pairs.begin(), size_of(x1) == 1 ? size_of(x2) : size_of(x1));
  }
  return distances.sizes() == pairs && grad.sizes() == pairs;
}

// Whether each part of `v` along the dimension, -1 for the whole of it, has a number in `g`.
inline bool is_weight_norm(const at::Tensor& v, const at::Tensor& g, int64_t dim) {
  return dim == -1 || (has_dim(v, dim) && v.dim() > 0 && v.size(dim) > 0 && g.numel() == v.size(dim));
}

// A parameter of a batch norm, if there is one: a number for each channel.
inline bool is_for_channels(int64_t channels, const at::Tensor& parameter) {
  return parameter.numel() == channels || !parameter.defined();
}

// The same if it is given.
template <class Optional>
bool is_for_channels(int64_t channels, const Optional& parameter) {
  return !parameter.has_value() || is_for_channels(channels, *parameter);
}

template <class Optional>
bool is_given(const Optional& tensor) {
  return tensor.has_value() && tensor->defined();
}

inline bool is_float_or_none(const at::Tensor& tensor) {
  return !tensor.defined() || tensor.scalar_type() == at::kFloat;
}

template <class Optional>
bool is_float_or_none(const Optional& tensor) {
  return !tensor.has_value() || is_float_or_none(*tensor);
}

// A batch, with elements where the kernel divides by its sizes, and parameters for its channels.
template <class... Optional>
bool is_batch(const at::Tensor& input, const Optional&... parameters) {
  const at::IntArrayRef sizes = input.sizes();
  return sizes.size() >= 2 && (compat::kBatchNormChecksEmptyBatch || input.numel() > 0) &&
         (is_for_channels(sizes[1], parameters) && ...);
}

// The same for kernels of which oneDNN's needs elements, and reads floats, whatever the dtype of a parameter.
template <class... Optional>
bool is_batch_for_onednn(const at::Tensor& input, const Optional&... parameters) {
  return is_batch(input, parameters...) &&
         (!input.is_mkldnn() || (input.numel() > 0 && (is_float_or_none(parameters) && ...)));
}

// Whether there are weights, and biases if it has them, for each layer and direction of a recurrent net.
inline bool are_for_layers(size_t params, int64_t num_layers, bool has_biases, bool bidirectional) {
  const int64_t each = (has_biases ? 4 : 2) * (bidirectional ? 2 : 1);
  return num_layers <= static_cast<int64_t>(params) / each;
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

// Whether negative numbers, of which a block of two has two, come in pairs.
inline bool are_in_pairs(const int64_t* pivots, int64_t count) {
  int64_t negative = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (pivots[i] >= 0 && negative % 2 != 0) return false;
    negative = pivots[i] < 0 ? negative + 1 : 0;
  }
  return negative % 2 == 0;
}

// The row exchanges of an LDL factorization of n rows: 1 to n, or -n to -1 for a block of two.
inline bool are_block_pivots(const at::Tensor& pivots, const at::Tensor& factors) {
  if (factors.dim() < 2 || pivots.dim() == 0 || !are_readable(pivots)) return true;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  const at::Tensor plain = pivots.to(at::kLong).contiguous();
  if (!all_between(plain.abs(), 1, factors.size(-2))) return false;
  const int64_t count = plain.size(-1);
  for (int64_t first = 0; first < plain.numel(); first += count) {
    if (!are_in_pairs(plain.data_ptr<int64_t>() + first, count)) return false;
  }
  return true;
}

// Whether all together are a number of rows that 64 bits hold. The op itself refuses negative ones.
inline bool are_repeats(const at::Tensor& repeats) {
  if (!are_readable(repeats) || repeats.scalar_type() != at::kLong) return true;
  const at::Tensor plain = longs_of(repeats);
  const int64_t* const numbers = plain.data_ptr<int64_t>();
  int64_t sum = 0;
  for (int64_t i = 0; i < plain.numel(); ++i) {
    if (numbers[i] < 0) return true;
    if (__builtin_add_overflow(sum, numbers[i], &sum)) return false;
  }
  return true;
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
  const auto by_ops = [&] {
    const at::NoGradGuard no_grad;
    const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
    return degrees.to(at::kDouble).gt(static_cast<double>(kMaxDegree)).any().item<bool>();
  };
  if (!are_plain(degrees)) return !by_ops();
  const auto is_high = [](double degree) { return degree > static_cast<double>(kMaxDegree); };
  if (degrees.scalar_type() == at::kFloat) return !any_in_memory<float>(degrees, is_high);
  if (degrees.scalar_type() == at::kDouble) return !any_in_memory<double>(degrees, is_high);
  return !any_integer(degrees, is_high, by_ops);
}

inline bool all_at_least(const at::Tensor& lengths, int64_t least) {
  return all_between(lengths, least, std::numeric_limits<int64_t>::max());
}

inline bool all_at_least(at::IntArrayRef lengths, int64_t least) {
  return std::all_of(lengths.begin(), lengths.end(), [=](int64_t length) { return length >= least; });
}

// Whether each input of a CTC loss has a step, and no number of labels is negative.
template <class Lengths>
bool have_steps(const Lengths& input_lengths, const Lengths& target_lengths) {
  return compat::kChecksLengths || (all_at_least(input_lengths, 1) && all_at_least(target_lengths, 0));
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

inline bool has_labels(const at::Tensor& log_probs, const at::Tensor& targets, const at::Tensor& lengths) {
  if (!are_lengths(lengths)) return true;
  const at::Tensor list = longs_of(lengths);
  return has_labels(log_probs, targets, at::IntArrayRef(list.data_ptr<int64_t>(), static_cast<size_t>(list.numel())));
}

inline bool are_equations(const at::Tensor& self, const at::Tensor& matrices) {
  if (self.dim() < 2 || matrices.dim() < 2) return true;  // the op itself refuses it
  return matrices.size(-1) == matrices.size(-2) && self.size(-2) == matrices.size(-1) &&
         first_sizes(self, 2) == first_sizes(matrices, 2);
}

// Whether the numbers are classes of a loss, or the one that stands for none.
inline bool are_classes(const at::Tensor& target, int64_t classes, int64_t ignored) {
  if (!are_readable(target)) return true;  // the op itself refuses it, or reads nothing
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // not one of the program's ops
  return all_below(target.masked_select(target.ne(ignored)), classes);
}

// Whether the bags that start at the offsets have each of the indices, and are at most so many. An offset after the
// last index is the end of a bag, or starts one without indices.
inline bool start_bags(const at::Tensor& offsets, int64_t indices, int64_t bags) {
  if (!are_readable(offsets)) return offsets.numel() == 0 ? indices == 0 : offsets.numel() <= bags;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  return offsets.min().item<int64_t>() == 0 && offsets.lt(indices).sum().item<int64_t>() <= bags;
}

// Whether embedding_bag finds a bag for each index. Where the last offset is the end of the last bag, the indices after
// it would be a bag more. The kernel of sums that reads the ends, instead of a list of the bags, ignores them.
inline bool has_bags(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets, int64_t mode,
                     const c10::optional<at::Tensor>& weights, bool include_last_offset, bool is_padded) {
  if (offsets.dim() != 1 || weight.dim() != 2 || (offsets.numel() == 0 && indices.numel() > 0)) return false;
  if (!include_last_offset || !are_readable(offsets)) return true;
  const bool is_weighted = weights.has_value() && weights->defined();
  const bool reads_ends = mode == 0 && !is_padded &&
                          (weight.scalar_type() == at::kFloat || weight.scalar_type() == at::kHalf) &&
                          weight.stride(1) == 1 && (!is_weighted || (weights->dim() == 1 && weights->stride(0) == 1));
  if (reads_ends) return true;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  return offsets.lt(indices.numel()).sum().item<int64_t>() < offsets.numel();
}

// Whether the arguments are those of a CTC loss and of its result, by their sizes. Labels: has_labels.
inline bool is_ctc_gradient(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets,
                            at::IntArrayRef input_lengths, at::IntArrayRef target_lengths, const at::Tensor& loss,
                            const at::Tensor& log_alpha, int64_t blank) {
  if (log_probs.dim() != 3 || log_alpha.dim() != 3) return false;  // the op reads the lengths before it looks
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
  const at::Tensor inputs = longs_of(input_lengths);
  const at::Tensor labels = longs_of(target_lengths);
  const auto as_list = [](const at::Tensor& lengths) {
    return at::IntArrayRef(lengths.data_ptr<int64_t>(), static_cast<size_t>(lengths.numel()));
  };
  return is_ctc_gradient(grad, log_probs, targets, as_list(inputs), as_list(labels), loss, log_alpha, blank);
}

// Whether each state of an optimizer covers the elements of its parameter. The op itself refuses lists of other
// lengths.
template <class... Lists>
bool are_states_of(const at::TensorList& params, const Lists&... states) {
  const auto covers = [](const at::Tensor& state, const at::Tensor& param) {
    if (state.layout() != at::kStrided || state.is_nested()) return false;
    return state.sizes() == param.sizes() && state.is_non_overlapping_and_dense() && has_memory(state);
  };
  const auto cover = [&](const at::TensorList& list) {
    for (size_t i = 0; i < list.size() && i < params.size(); ++i) {
      if (!covers(list[i], params[i])) return false;
    }
    return true;
  };
  return cover(params) && (cover(states) && ...);
}

// Whether the statistics of an observer are as many as the op reads: one of each for each part along the dimension, or
// one of all. Of parts, there may be none yet: the op makes them.
inline bool is_observed(const at::Tensor& self, std::initializer_list<at::Tensor> statistics,
                        const at::Tensor& zero_point, int64_t dim, bool by_parts) {
  if (by_parts && (self.dim() == 0 || !has_dim(self, dim))) return false;
  const int64_t count = by_parts ? self.size(dim) : 1;
  const bool are_absent = by_parts && zero_point.numel() == 0;
  const auto fits = [&](const at::Tensor& tensor, at::ScalarType dtype) {
    return tensor.scalar_type() == dtype && tensor.layout() == at::kStrided && tensor.is_contiguous() &&
           has_memory(tensor) && tensor.numel() == (are_absent ? 0 : count);
  };
  return fits(zero_point, at::kInt) && std::all_of(statistics.begin(), statistics.end(),
                                                   [&](const auto& tensor) { return fits(tensor, at::kFloat); });
}

// Whether the tensors of an attention, and of its gradient, are [batch, heads, rows, features], with as many of each as
// the kernel reads.
inline bool are_heads(const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                      const at::Tensor& out, const at::Tensor& logsumexp) {
  if (query.dim() != 4 || key.dim() != 4 || query.numel() == 0 || key.numel() == 0) return false;
  const at::IntArrayRef q = query.sizes();
  const at::IntArrayRef k = key.sizes();
  const std::vector<int64_t> rows{q[0], q[1], q[2]};
  return k[0] == q[0] && k[1] == q[1] && k[3] == q[3] && value.sizes() == k && grad.sizes() == q && out.sizes() == q &&
         logsumexp.sizes() == rows;
}

// Whether each list has a tensor or a number for each tensor.
template <class... Lists>
bool are_as_many(const at::TensorList& tensors, const Lists&... lists) {
  return ((lists.size() == tensors.size()) && ...);
}

// Whether the values can be written into the tensor if it is quantized.
inline bool are_for_quantized(const at::Tensor& self, const at::Tensor& values) {
  return !self.is_quantized() || values.scalar_type() == at::kFloat;
}

}  // namespace ltn
