#include "native/handles/slot_table.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include "native/audit/audit.h"
#include "native/handles/graph_census.h"
#include "native/handles/storage_of.h"

namespace ltn::handles {

static_assert(kIndexBits + kGenerationBits <= std::numeric_limits<double>::digits, "a handle is a JS number");
// Addresses are never part of a handle or of an id in a capture, so their width does not matter; the counters of
// storages, which do have the type of a pointer, need all of its bits.
static_assert(sizeof(uintptr_t) == sizeof(accounting::StorageEntry::id));

SlotTable::SlotTable(uint32_t env_number, accounting::ExternalMemory& external, Flags& flags)
    : env_number_(env_number), external_(external), flags_(flags) {
  accounting::add_sole_totals(&alone_);
}

SlotTable::~SlotTable() {
  for (uint32_t index = 0; index < used_; ++index) {
    if (at(index).live) release_slot(index);
  }
  if (watch_ != nullptr && watch_->on()) audit::listen(false);
  accounting::remove_sole_totals(&alone_);
}

void SlotTable::check_thread() const noexcept {
#ifdef LTN_DEBUG
  if (std::this_thread::get_id() != thread_) {
    std::fputs("libtorch-node: the slot table of one environment was used on another thread\n", stderr);
    std::abort();
  }
#endif
}

SlotTable::Slot* SlotTable::live_slot(Handle handle) noexcept {
  const uint64_t index = handle & kIndexMask;
  if (index >= used_) return nullptr;
  Slot& slot = at(static_cast<uint32_t>(index));
  return slot.live && slot.generation == handle >> kIndexBits ? &slot : nullptr;
}

uint32_t SlotTable::take_slot() {
  if (free_head_ != kNone) {
    const uint32_t index = free_head_;
    free_head_ = at(index).next;
    return index;
  }
  TORCH_CHECK(used_ < kIndexMask, "more than ", kIndexMask, " tensors are alive in one thread");
  if (used_ >> kChunkBits == chunks_.size()) chunks_.push_back(std::make_unique<Slot[]>(kChunk));
  return used_++;
}
// The slot holds the only reference to the tensor, and the tensor the only one to the storage. An op that takes the
// tensor can change that, and settle_used() checks it afterwards.
bool SlotTable::is_alone(const at::Tensor& tensor, const c10::StorageImpl* storage) noexcept {
  return storage != nullptr && tensor.use_count() == 1 &&
         tensor.unsafeGetTensorImpl()->unsafe_storage().use_count() == 1 && accounting::is_plain_cpu(storage);
}

void SlotTable::charge_alone(Slot& slot, uint64_t bytes) noexcept {
  slot.alone = true;
  slot.alone_bytes = bytes;
  alone_.add(1, static_cast<int64_t>(bytes));
  external_.add(static_cast<int64_t>(bytes));
}

void SlotTable::refund_alone(Slot& slot) noexcept {
  slot.alone = false;
  const auto bytes = static_cast<int64_t>(slot.alone_bytes);
  alone_.add(-1, -bytes);
  external_.add(-bytes);
}

Handle SlotTable::create(at::Tensor&& tensor) {
  check_thread();
  if (!tensor.defined()) return 0;
  const uint32_t index = take_slot();
  Slot& slot = at(index);
  slot.tensor = std::move(tensor);
  bool storage_is_new = false;
  bool records_birth = audit::enabled();
  float weight = 0;
  try {
    const bool in_use_now = is_in_use(slot);
    auto* storage = in_use_now ? nullptr : storage_of(slot.tensor);
    const bool alone = is_alone(slot.tensor, storage);
    if (alone && records_birth) records_birth = is_recorded(storage->nbytes(), &weight);
    if (alone && !records_birth) {
      charge_alone(slot, storage->nbytes());
    } else if (storage != nullptr) {
      if (!used_alone_.empty()) publish_used(storage);
      slot.entry = charge_storage(storage, &storage_is_new);
    } else if (in_use_now) {  // a handle on a tensor in use by a step: charged when the step has ended
      accounting::count_storageless(1);
      defer(slot);
    } else {
      charge(slot);
    }
  } catch (...) {  // out of memory: undo, no one has the slot
    slot.tensor.reset();
    slot.next = free_head_;
    free_head_ = index;
    throw;
  }
  slot.live = true;
  ++live_;
  if (current_ != kNone) link(index, current_);
  if (records_birth) record_birth(index, storage_is_new, weight);
  return (static_cast<uint64_t>(slot.generation) << kIndexBits) | index;
}

at::Tensor* SlotTable::find(Handle handle) noexcept {
  check_thread();
  Slot* slot = live_slot(handle);
  return slot == nullptr ? nullptr : &slot->tensor;
}

at::Tensor* SlotTable::use(Handle handle) {
  check_thread();
  Slot* slot = live_slot(handle);
  if (slot == nullptr) return nullptr;
  if (slot->alone) used_alone_.push_back(static_cast<uint32_t>(handle & kIndexMask));
  return &slot->tensor;
}

void SlotTable::release_slot(uint32_t index) noexcept {
  Slot& slot = at(index);
  unlink(index);
  if (slot.record != 0 || audit::enabled()) {
    release_recorded(index);
  } else {
    release_tensor(index);
  }
}

void SlotTable::release_tensor(uint32_t index) noexcept {
  Slot& slot = at(index);
  slot.live = slot.due = slot.unreported = false;
  --live_;
  refund(slot);
  // Last: freeing a tensor may free a whole autograd graph.
  at::Tensor dying = std::move(slot.tensor);
  // A slot with exhausted generations is retired, so that no stale handle can ever match again.
  if (slot.generation == kLastGeneration) return;
  ++slot.generation;
  slot.next = free_head_;
  free_head_ = index;
}

bool SlotTable::free(Handle handle) noexcept {
  check_thread();
  if (live_slot(handle) == nullptr) return false;
  release_slot(static_cast<uint32_t>(handle & kIndexMask));
  return true;
}

void SlotTable::free_from_finalizer(Handle handle) noexcept {
  check_thread();
  if (live_slot(handle) == nullptr) return;
  if (busy_ > 0) {
    queued_.push_back(handle);
    return;
  }
  free(handle);
  external_.settle_refund();
}

void SlotTable::drain() noexcept {
  // Freeing runs no JS, so nothing is queued in the meantime.
  for (const Handle handle : queued_) free(handle);
  queued_.clear();
}

size_t SlotTable::drain_except(const std::vector<Handle>& in_use) noexcept {
  check_thread();
  size_t kept = 0;
  const size_t all = queued_.size();
  for (size_t i = 0; i < all; ++i) {
    const Handle handle = queued_[i];
    if (std::binary_search(in_use.begin(), in_use.end(), handle)) {
      queued_[kept++] = handle;
    } else {
      free(handle);
    }
  }
  queued_.resize(kept);
  return all - kept;
}
void SlotTable::link(uint32_t index, uint32_t scope) noexcept {
  Slot& slot = at(index);
  Scope& owner = scopes_[scope];
  slot.scope = scope;
  slot.previous = kNone;
  slot.next = owner.head;
  if (owner.head != kNone) at(owner.head).previous = index;
  owner.head = index;
}

void SlotTable::unlink(uint32_t index) noexcept {
  Slot& slot = at(index);
  if (slot.scope == kNone) return;
  if (slot.previous != kNone) {
    at(slot.previous).next = slot.next;
  } else {
    scopes_[slot.scope].head = slot.next;
  }
  if (slot.next != kNone) at(slot.next).previous = slot.previous;
  slot.scope = kNone;
  slot.previous = slot.next = kNone;
}

}  // namespace ltn::handles
