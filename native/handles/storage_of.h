// The storage of a tensor, for the parts of the slot table.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "native/accounting/storage_ledger.h"

namespace ltn::handles {

// Null for a tensor without a storage.
inline c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  if (!tensor.unsafeGetTensorImpl()->has_storage()) return nullptr;
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

// 0 if `entry` is null.
inline uint64_t bytes_of(const accounting::StorageEntry* entry) noexcept {
  return entry == nullptr ? uint64_t{0} : uint64_t{entry->bytes};
}

// The audit's id of a storage: never reused. An opaque pointer, because the recorder keys storages by address.
inline const void* audit_id(const accounting::StorageEntry* entry) noexcept {
  return entry == nullptr ? nullptr : reinterpret_cast<const void*>(static_cast<uintptr_t>(entry->id));
}

}  // namespace ltn::handles
