// Shapes from before an op that may resize its tensors.
//
// libtorch sets the new shape before it allocates the memory. If there is none, the tensor is left with a shape that
// exceeds its storage, and a program that frees memory and continues would have lost the elements.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <vector>

#include "native/handles/storage_of.h"

namespace ltn::handles {

// Whether elements lie outside of the storage. A call that fails halfway also leaves negative sizes, and products of
// sizes and strides that no 64 bits hold. Only of a strided tensor with a storage, neither on `meta` nor nested.
inline bool outgrows(const at::Tensor& tensor) {
  int64_t count = 1;
  for (const int64_t size : tensor.sizes()) {
    if (size < 0) return true;
    if (__builtin_mul_overflow(count, size, &count)) return true;
  }
  if (count == 0) return false;
  int64_t last = tensor.storage_offset();
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    int64_t reach = 0;
    if (tensor.stride(dim) < 0 || __builtin_mul_overflow(tensor.size(dim) - 1, tensor.stride(dim), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return true;
    }
  }
  return static_cast<uint64_t>(last) >= tensor.storage().nbytes() / tensor.element_size();
}

// Whether `outgrows` can tell.
inline bool has_bounds(const at::Tensor& tensor) {
  return tensor.layout() == c10::kStrided && storage_of(tensor) != nullptr && !tensor.is_meta() &&
         !tensor.is_nested();  // a nested one has no strides
}

// Lifetime: one call of an op. Thread: the one that runs it.
class KeptShapes {
 public:
  void keep(const at::Tensor& tensor) {
    if (!tensor.defined() || !has_bounds(tensor)) return;
    kept_.push_back({tensor, {}, {}, tensor.storage_offset()});
    kept_.back().sizes.append(tensor.sizes().begin(), tensor.sizes().end());
    kept_.back().strides.append(tensor.strides().begin(), tensor.strides().end());
  }

  // The op has failed: gives the tensors whose shapes exceed their storages the shapes from before.
  void restore() {
    for (const Kept& kept : kept_) {
      if (!has_bounds(kept.tensor) || !outgrows(kept.tensor)) continue;
      kept.tensor.unsafeGetTensorImpl()->set_storage_offset(kept.offset);
      kept.tensor.unsafeGetTensorImpl()->set_sizes_and_strides(kept.sizes, kept.strides);
    }
  }

 private:
  struct Kept {
    at::Tensor tensor;
    c10::SmallVector<int64_t, 5> sizes, strides;
    int64_t offset;
  };
  c10::SmallVector<Kept, 1> kept_;
};

// Runs `call`, of an op with boxed `arguments`. `resized`: those whose shapes it may change, as bits.
template <class Call>
void keeping_shapes(uint64_t resized, const std::vector<c10::IValue>& arguments, const Call& call) {
  if (resized == 0) return call();
  KeptShapes shapes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if ((resized >> i & 1) == 0) continue;
    if (arguments[i].isTensor()) shapes.keep(arguments[i].toTensor());
    if (!arguments[i].isTensorList()) continue;
    for (const c10::IValue& element : arguments[i].toListRef()) shapes.keep(element.toTensor());
  }
  try {
    call();
  } catch (...) {
    shapes.restore();
    throw;
  }
}

}  // namespace ltn::handles
