#include "native/ops/replaced_kernels.h"

#include <ATen/ATen.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_embedding_bag_forward_only_native.h>
#include <ATen/ops/_embedding_bag_native.h>
#include <ATen/ops/_weight_norm_interface_backward_native.h>
#include <ATen/ops/_weight_norm_interface_native.h>
#include <ATen/ops/baddbmm_cpu_dispatch.h>
#include <ATen/ops/gelu_backward_cpu_dispatch.h>
#include <ATen/ops/gelu_cpu_dispatch.h>
#include <ATen/ops/median_native.h>
#include <ATen/ops/mul_native.h>
#include <ATen/ops/nanmedian_native.h>
#include <ATen/ops/native_batch_norm_native.h>
#include <ATen/ops/native_group_norm_backward_native.h>
#include <ATen/ops/native_group_norm_native.h>
#include <ATen/ops/zero_native.h>
#include <torch/library.h>

#include <array>
#include <tuple>

#include "native/compat.h"
#include "native/ops/kernel_conditions.h"
#include "native/ops/replaced_lstm.h"

namespace ltn {
namespace {

// libtorch's kernel writes four bytes for each element, whatever its dtype.
at::Tensor& zero_mkldnn(at::Tensor& self) {
  if (self.scalar_type() == at::kFloat) return at::native::mkldnn_zero_(self);
  const at::Tensor zeros = at::zeros(self.sizes(), self.options().layout(at::kStrided));
  return self.copy_(zeros.to_mkldnn());
}

// A parameter of a batch norm in oneDNN's layout, which is read as a float for each channel.
void check_parameter(const char* name, const c10::optional<at::Tensor>& parameter, const at::Tensor& input) {
  if (!parameter.has_value() || !parameter->defined()) return;
  TORCH_CHECK(parameter->scalar_type() == at::kFloat && input.dim() > 1 && parameter->numel() == input.size(1), name,
              ": expected Float, with a number for each channel of input ", input.sizes(), ", got ",
              parameter->scalar_type(), " ", parameter->sizes());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm_mkldnn(const at::Tensor& input,
                                                                 const c10::optional<at::Tensor>& weight,
                                                                 const c10::optional<at::Tensor>& bias,
                                                                 const c10::optional<at::Tensor>& running_mean,
                                                                 const c10::optional<at::Tensor>& running_var,
                                                                 bool training, double momentum, double eps) {
  TORCH_CHECK(input.numel() > 0, "input: expected a batch with elements, got ", input.sizes());
  check_parameter("weight", weight, input);
  check_parameter("bias", bias, input);
  check_parameter("running_mean", running_mean, input);
  check_parameter("running_var", running_var, input);
  return at::native::mkldnn_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
}

// That for other tensors divides by the sizes, and reads a number of each parameter for each channel. Other norms call
// it inside when a tensor of theirs has no kernel of its own.
std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm(const at::Tensor& input,
                                                          const c10::optional<at::Tensor>& weight,
                                                          const c10::optional<at::Tensor>& bias,
                                                          const c10::optional<at::Tensor>& running_mean,
                                                          const c10::optional<at::Tensor>& running_var, bool training,
                                                          double momentum, double eps) {
  TORCH_CHECK(
      is_batch(input, weight, bias, running_mean, running_var) &&
          (training || (is_given(running_mean) && is_given(running_var))),
      "input: expected a batch with elements, parameters with a number for each channel, and, without training, "
      "running statistics, got ",
      input.sizes());
  return at::native::batch_norm_cpu(input, weight, bias, running_mean, running_var, training, momentum, eps);
}

// libtorch's kernels of medians read `size` numbers in a row, whatever the stride: of an expanded tensor, those of
// others.
at::Tensor with_steps(const at::Tensor& self, int64_t dim) {
  const int64_t count = self.dim();
  const bool is_expanded = -count <= dim && dim < count && self.size(dim) > 1 && self.stride(dim) == 0;
  return is_expanded ? self.contiguous() : self;
}

template <auto median>
std::tuple<at::Tensor&, at::Tensor&> median_out(const at::Tensor& self, int64_t dim, bool keepdim, at::Tensor& values,
                                                at::Tensor& indices) {
  return median(with_steps(self, dim), dim, keepdim, values, indices);
}

// Those of bags read all indices and offsets in a row.
template <auto embedding_bag>
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> embedding_bags(
    const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets, bool scale_grad_by_freq,
    int64_t mode, bool sparse, const c10::optional<at::Tensor>& per_sample_weights, bool include_last_offset,
    int64_t padding_idx) {
  return embedding_bag(weight, indices.contiguous(), offsets.contiguous(), scale_grad_by_freq, mode, sparse,
                       per_sample_weights, include_last_offset, padding_idx);
}

// Those of group norms read the weight, the bias and the statistics in a row.
c10::optional<at::Tensor> in_a_row(const c10::optional<at::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined() ? tensor->contiguous() : tensor;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> group_norm(const at::Tensor& input,
                                                          const c10::optional<at::Tensor>& weight,
                                                          const c10::optional<at::Tensor>& bias, int64_t N, int64_t C,
                                                          int64_t HxW, int64_t group, double eps) {
  return at::native::native_group_norm(input, in_a_row(weight), in_a_row(bias), N, C, HxW, group, eps);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> group_norm_backward(const at::Tensor& grad_out, const at::Tensor& input,
                                                                   const at::Tensor& mean, const at::Tensor& rstd,
                                                                   const c10::optional<at::Tensor>& weight, int64_t N,
                                                                   int64_t C, int64_t HxW, int64_t group,
                                                                   std::array<bool, 3> output_mask) {
  return at::native::native_group_norm_backward(grad_out, input, mean.contiguous(), rstd.contiguous(), in_a_row(weight),
                                                N, C, HxW, group, output_mask);
}

// Those of weight norms read all they are given in a row.
std::tuple<at::Tensor, at::Tensor> weight_norm(const at::Tensor& v, const at::Tensor& g, int64_t dim) {
  return at::native::weight_norm_cpu(v.contiguous(), g.contiguous(), dim);
}

std::tuple<at::Tensor, at::Tensor> weight_norm_backward(const at::Tensor& grad_w, const at::Tensor& saved_v,
                                                        const at::Tensor& saved_g, const at::Tensor& saved_norms,
                                                        int64_t dim) {
  return at::native::weight_norm_backward_cpu(grad_w.contiguous(), saved_v.contiguous(), saved_g.contiguous(),
                                              saved_norms.contiguous(), dim);
}

// That of products of sparse tensors reads as many rows of indices of both as the first one has.
at::Tensor& sparse_product(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  if (self.is_sparse() && other.is_sparse() && self.dim() > 0 && other.dim() > 0) {
    TORCH_CHECK(self.sparse_dim() == other.sparse_dim(), "other: expected ", self.sparse_dim(),
                " sparse dimensions (as self), got ", other.sparse_dim());
  }
  return at::native::mul_out_sparse_cpu(self, other, out);
}

// That of products of small matrices multiplies what is in the memory of its result by beta, also where beta is 0: a
// NaN of another tensor stays NaN. The same sums begin at zeros here.
bool is_ignored(const at::Scalar& beta) { return beta.toComplexDouble() == 0.0; }

at::Tensor batch_products(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                          const at::Scalar& beta, const at::Scalar& alpha) {
  if (!is_ignored(beta)) return at::cpu::baddbmm(self, batch1, batch2, beta, alpha);
  return at::cpu::baddbmm(at::zeros({}, self.options()).expand_as(self), batch1, batch2, 1, alpha);
}

at::Tensor& batch_products_out(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                               const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  if (!is_ignored(beta)) return at::cpu::baddbmm_outf(self, batch1, batch2, beta, alpha, out);
  return at::cpu::baddbmm_outf(at::zeros({}, self.options()).expand_as(self), batch1, batch2, 1, alpha, out);
}

at::Tensor& add_batch_products(at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                               const at::Scalar& beta, const at::Scalar& alpha) {
  if (!is_ignored(beta)) return at::cpu::baddbmm_(self, batch1, batch2, beta, alpha);
  const at::Tensor sums = batch_products(self, batch1, batch2, beta, alpha);
  TORCH_CHECK(self.sizes() == sums.sizes(), "self: expected the sizes of the products ", sums.sizes(), ", got ",
              self.sizes());
  return self.copy_(sums);
}

// Whether oneDNN's kernel would write to a copy of the result, which libtorch then drops: one that is not contiguous
// and keeps its memory.
bool is_lost(const at::Tensor& result, const at::Tensor& input) {
  if (result.is_contiguous() || result.sizes() != input.sizes() || result.dtype() != input.dtype()) return false;
  at::assert_no_partial_overlap(result, input);
  return true;
}

at::Tensor& gelu_out(const at::Tensor& self, c10::string_view approximate, at::Tensor& out) {
  if (!is_lost(out, self)) return at::cpu::gelu_outf(self, approximate, out);
  return out.copy_(at::cpu::gelu(self, approximate));
}

at::Tensor& gelu_backward_out(const at::Tensor& grad_output, const at::Tensor& self, c10::string_view approximate,
                              at::Tensor& grad_input) {
  if (!is_lost(grad_input, self)) return at::cpu::gelu_backward_outf(grad_output, self, approximate, grad_input);
  return grad_input.copy_(at::cpu::gelu_backward(grad_output, self, approximate));
}

// libtorch's is_leaf misses what was written through another view of the same memory. grad_fn() sees it, and Python
// asks that.
bool is_leaf(const at::Tensor& self) { return self.grad_fn() == nullptr; }

// For ops that oneDNN's layout has no kernel for. libtorch runs its general one, which compares the storages of the
// tensors: in this layout there is none, and libtorch 2 reads it nevertheless.
void refuse_mkldnn(const c10::OperatorHandle& op, c10::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "Could not run '", op.operator_name(),
                              "' with arguments from the 'MkldnnCPU' backend");
}

constexpr std::array kWithoutMkldnn = {
    "scatter_.src",        "scatter_.value", "scatter_.reduce", "scatter_.value_reduce", "scatter_add_",
    "scatter_reduce_.two", "index_add_",     "index_copy_",     "index_reduce_"};

}  // namespace

void replace_kernels() {
  const compat::SilentWarnings silent;  // libtorch warns of each kernel that is replaced
  // Never destroyed: that would bring libtorch's kernels back, in an order of the process's end that nobody knows.
  static auto& mkldnn = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::MkldnnCPU, __FILE__, 0);
  mkldnn.impl("zero_", &zero_mkldnn);
  mkldnn.impl("native_batch_norm", &batch_norm_mkldnn);
  for (const char* const name : kWithoutMkldnn) {
    mkldnn.impl(name, torch::CppFunction::makeFromBoxedFunction<&refuse_mkldnn>());
  }
  static auto& cpu = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, 0);
  cpu.impl("median.dim_values", &median_out<&at::native::median_out_cpu>);
  cpu.impl("nanmedian.dim_values", &median_out<&at::native::nanmedian_out_cpu>);
  cpu.impl("_embedding_bag", &embedding_bags<&at::native::_embedding_bag_cpu>);
  cpu.impl("_embedding_bag_forward_only", &embedding_bags<&at::native::_embedding_bag_forward_only_cpu>);
  cpu.impl("native_batch_norm", &batch_norm);
  cpu.impl("native_group_norm", &group_norm);
  cpu.impl("native_group_norm_backward", &group_norm_backward);
  cpu.impl("_weight_norm_interface", &weight_norm);
  cpu.impl("_weight_norm_interface_backward", &weight_norm_backward);
  if constexpr (compat::kMultipliesByZeroBeta) {
    cpu.impl("baddbmm", &batch_products);
    cpu.impl("baddbmm.out", &batch_products_out);
    cpu.impl("baddbmm_", &add_batch_products);
  }
  cpu.impl("gelu.out", &gelu_out);
  cpu.impl("gelu_backward.grad_input", &gelu_backward_out);
  static auto& sparse = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::SparseCPU, __FILE__, 0);
  sparse.impl("mul.out", &sparse_product);
  static auto& any =
      *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CompositeImplicitAutograd, __FILE__, 0);
  any.impl("is_leaf", &is_leaf);
  replace_lstm(cpu, mkldnn);
}

}  // namespace ltn
