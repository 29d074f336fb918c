// The tensors inside a tensor without its own storage.
#pragma once

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/Tensor.h>

namespace ltn::handles {

// Calls visit(tensor) for the indices and values of a sparse tensor, defined or not. `visit` gets its own reference,
// one more than the tensor has otherwise.
template <class Visit>
void for_each_inner(const at::Tensor& tensor, Visit&& visit) {
  const c10::Layout layout = tensor.layout();
  if (layout == c10::kSparse) {
    auto* impl = static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
    visit(at::Tensor(impl->indices()));
    visit(at::Tensor(impl->values()));
  } else if (layout == c10::kSparseCsr || layout == c10::kSparseCsc || layout == c10::kSparseBsr ||
             layout == c10::kSparseBsc) {
    auto* impl = static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
    visit(at::Tensor(impl->compressed_indices()));
    visit(at::Tensor(impl->plain_indices()));
    visit(at::Tensor(impl->values()));
  }
}

}  // namespace ltn::handles
