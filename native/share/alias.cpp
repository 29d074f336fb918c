#include "native/share/alias.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>

namespace ltn::share {
namespace {

bool is_compressed(c10::Layout layout) {
  return layout == c10::kSparseCsr || layout == c10::kSparseCsc || layout == c10::kSparseBsr ||
         layout == c10::kSparseBsc;
}

at::Tensor shallow_copy(const at::Tensor& tensor) {
  return at::Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(/*version=*/0),
                                                                          /*allow_tensor_metadata_change=*/true));
}

// Calls `visit` for the tensor, or for those inside a sparse one.
template <class Visit>
void for_each_part(const at::Tensor& tensor, Visit visit) {
  if (tensor.layout() == c10::kSparse) {
    auto* impl = static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
    visit(impl->indices());
    visit(impl->values());
  } else if (is_compressed(tensor.layout())) {
    auto* impl = static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
    visit(impl->compressed_indices());
    visit(impl->plain_indices());
    visit(impl->values());
  } else {
    visit(tensor);
  }
}

}  // namespace

std::optional<std::string> why_not(const at::Tensor& tensor, void (*borrowed_deleter)(void*)) {
  if (tensor.requires_grad() && tensor.grad_fn() != nullptr) {
    return "the tensor was computed with gradients, and a graph belongs to one thread; share t.detach()";
  }
  const bool sparse = tensor.layout() == c10::kSparse || is_compressed(tensor.layout());
  if (tensor.is_nested() || (!sparse && tensor.layout() != c10::kStrided)) {
    return "a tensor of this layout cannot be shared; share its strided or sparse form";
  }
  std::optional<std::string> reason;
  for_each_part(tensor, [&](const at::Tensor& part) {
    if (!part.has_storage()) {
      reason = "the tensor has no storage to share";
    } else if (borrowed_deleter != nullptr && part.storage().data_ptr().get_deleter() == borrowed_deleter) {
      reason = "the memory belongs to a typed array of this thread; share t.clone()";
    }
  });
  return reason;
}

void pin_storages(const at::Tensor& tensor) {
  for_each_part(tensor, [](const at::Tensor& part) {
    c10::StorageImpl* storage = part.storage().unsafeGetStorageImpl();
    // Written once, before any other thread has the tensor; a thread that shares it again only reads.
    if (storage->resizable()) storage->set_resizable(false);
  });
}

at::Tensor alias_of(const at::Tensor& tensor) {
  at::Tensor alias = shallow_copy(tensor);
  // A shallow copy of a sparse tensor has the same tensors inside.
  if (tensor.layout() == c10::kSparse) {
    auto* impl = static_cast<at::SparseTensorImpl*>(alias.unsafeGetTensorImpl());
    const bool coalesced = impl->coalesced();
    impl->set_indices_and_values_unsafe(shallow_copy(impl->indices()), shallow_copy(impl->values()));
    impl->set_coalesced(coalesced);
  } else if (is_compressed(tensor.layout())) {
    auto* impl = static_cast<at::SparseCsrTensorImpl*>(alias.unsafeGetTensorImpl());
    impl->set_member_tensors(shallow_copy(impl->compressed_indices()), shallow_copy(impl->plain_indices()),
                             shallow_copy(impl->values()), tensor.sizes());
  }
  return alias;
}

}  // namespace ltn::share
