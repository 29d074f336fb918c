// What tests read of the ledger of storages, and what they give it as the report to V8.
#ifndef LIBTORCH_NODE_TEST_NATIVE_SUPPORT_LEDGER_H_
#define LIBTORCH_NODE_TEST_NATIVE_SUPPORT_LEDGER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "native/accounting/storage_ledger.h"

namespace ltn {

// Reports of external memory: nothing is done with them, or they are summed.
inline void ignore_report(void*, int64_t) {}
inline void sum_reports(void* sum, int64_t bytes) { *static_cast<int64_t*>(sum) += bytes; }

inline uint64_t ledger_bytes() { return accounting::ledger_totals().bytes; }
inline uint64_t ledger_tensors() { return accounting::ledger_totals().tensors; }

inline c10::StorageImpl* storage_of(const at::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

}  // namespace ltn

#endif  // LIBTORCH_NODE_TEST_NATIVE_SUPPORT_LEDGER_H_
