#include "native/accounting/totals.h"

#include "native/accounting/cpu_allocator.h"
#include "native/accounting/storage_ledger.h"

namespace ltn::accounting {

audit::Totals read_totals() noexcept {
  audit::Totals totals;
  ledger_sums(&totals.tensors, &totals.storages, &totals.bytes);
  const AllocatorTotals allocator = cpu_allocator_totals();
  totals.allocated_bytes = allocator.allocated_bytes;
  totals.peak_allocated_bytes = allocator.peak_allocated_bytes;
  return totals;
}

}  // namespace ltn::accounting
