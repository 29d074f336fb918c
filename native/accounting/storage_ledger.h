// The process-wide ledger of storages with JS handles: each storage once, with the bytes it was charged. The size is
// the storage's, not the handle's: a view, an expand or a detach adds a handle but no bytes.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "native/accounting/external_memory.h"

namespace ltn::accounting {

// The number of handles of one environment on a storage shared by several environments.
struct Holder {
  ExternalMemory* account;
  uint64_t handles;
};

// A value written under a lock and read without it.
template <class T>
class Relaxed {
 public:
  Relaxed(T value) noexcept : value_(value) {}
  operator T() const noexcept { return value_.load(std::memory_order_relaxed); }
  T operator=(T value) noexcept {
    value_.store(value, std::memory_order_relaxed);
    return value;
  }

 private:
  std::atomic<T> value_;
};

// One storage with at least one live handle. Lifetime: owned by the ledger; valid from the first acquire() to the
// matching last release(). Thread: everything but the key changes only under the ledger's shard lock. A thread with a
// handle reads key, id, bytes and borrowed without it.
struct StorageEntry {
  const c10::StorageImpl* key = nullptr;
  // Keeps the StorageImpl's address (not its data) from being reused while the entry exists.
  c10::weak_intrusive_ptr<c10::StorageImpl> weak{c10::intrusive_ptr<c10::StorageImpl>()};
  uint64_t id = 0;  // never reused, unlike the entry's address
  uint64_t handles = 0;
  uint64_t tensors = 0;         // the number of handles that count as a tensor
  Relaxed<uint64_t> bytes = 0;  // the charged amount; refunded exactly
  // The environment charged for the bytes. It has a handle; when it releases its last one while others have some, the
  // charge moves to one of them.
  ExternalMemory* owner = nullptr;
  // Null while only the owner has handles, which is nearly always.
  std::unique_ptr<std::vector<Holder>> holders;
  int8_t device_type = 0;
  int8_t device_index = 0;
  Relaxed<bool> borrowed = false;  // memory of a JS ArrayBuffer, which V8 counts already: charged 0
  StorageEntry* next_free = nullptr;
};

struct DeviceTotals {
  std::string device;  // "cpu", "cuda:0"
  uint64_t tensors = 0, storages = 0, bytes = 0;
};

// The changes of one ledger operation, for the external memory of the calling environment and for the audit.
struct Change {
  int64_t bytes = 0;     // to add to the calling environment's external memory (negative: refund)
  bool first = false;    // acquire: the storage had no handle before
  bool last = false;     // release: the storage has no handle left
  bool resized = false;  // acquire, refresh: the bytes of a storage that had a handle changed
};

// `account` is the calling environment's; changes for another one go through its add_from_other_thread().

// Adds a handle on `storage`. Never null. `change.bytes` is its charge if this is the first handle, otherwise the
// difference between its size and the charge. A tensor with several storages (sparse) counts as one tensor: it acquires
// all but the first with `is_tensor` false. If it throws (out of memory), nothing has changed.
StorageEntry* acquire(c10::StorageImpl* storage, ExternalMemory& account, Change* change, bool is_tensor = true);

// Removes a handle; `is_tensor` as for its acquire(). `entry` may be invalid afterwards.
Change release(StorageEntry* entry, ExternalMemory& account, bool is_tensor = true) noexcept;

// The storage may have been resized in place: charges or refunds the difference.
Change refresh(StorageEntry* entry, ExternalMemory& account) noexcept;

// Totals of the storages of one environment that need no entry: one handle alone holds them, so no second handle can
// appear unnoticed. The handle's slot has the charge. Thread: written on the environment's thread only, read on any.
struct SoleTotals {
  std::atomic<uint64_t> storages{0}, bytes{0};

  void add(int64_t more_storages, int64_t more_bytes) noexcept {
    const auto add_to = [](std::atomic<uint64_t>& sum, int64_t more) {  // single writer: no atomic addition needed
      sum.store(sum.load(std::memory_order_relaxed) + static_cast<uint64_t>(more), std::memory_order_relaxed);
    };
    add_to(storages, more_storages);
    add_to(bytes, more_bytes);
  }
};

// `totals` are included in the sums below until they are removed. They are of CPU tensors with one storage each.
void add_sole_totals(const SoleTotals* totals);
void remove_sole_totals(const SoleTotals* totals) noexcept;

// Whether any environment has a handle on `storage`; the caller keeps the address valid. Any thread.
bool has_handles(const c10::StorageImpl* storage) noexcept;

// Whether `storage` is memory of libtorch's CPU allocator, charged with all of its bytes.
bool is_plain_cpu(const c10::StorageImpl* storage) noexcept;

// Totals over all storages with a live handle; tensors are the handles. Locks each shard in turn. Any thread.
struct LedgerTotals {
  uint64_t tensors = 0, storages = 0, bytes = 0;
  std::vector<DeviceTotals> devices;
};
LedgerTotals ledger_totals();

// The sums only, without allocating: for the audit's writer thread.
void ledger_sums(uint64_t* tensors, uint64_t* storages, uint64_t* bytes) noexcept;

// Handles on tensors without any storage (opaque ones) are counted separately.
void count_storageless(int64_t delta) noexcept;

// Sets the deleter that marks borrowed memory, see borrowed_buffer.h.
void set_borrowed_deleter(void (*deleter)(void*)) noexcept;

}  // namespace ltn::accounting
