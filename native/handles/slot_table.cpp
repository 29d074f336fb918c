#include "native/handles/slot_table.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "native/audit/audit.h"

namespace ltn::handles {
namespace {

constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;
constexpr uint32_t kLastGeneration = (uint32_t{1} << kGenerationBits) - 1;
constexpr uint64_t kLastScopeGeneration = (uint64_t{1} << (53 - kScopeIndexBits)) - 1;
constexpr uint64_t kScopeIndexMask = (uint64_t{1} << kScopeIndexBits) - 1;

c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  if (!tensor.unsafeGetTensorImpl()->has_storage()) return nullptr;
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

// The storages inside a tensor that has none of its own.
std::vector<c10::StorageImpl*> inner_storages(const at::Tensor& tensor) {
  std::vector<c10::StorageImpl*> storages;
  const auto add = [&](const at::Tensor& part) {
    if (!part.defined()) return;
    if (auto* storage = storage_of(part)) storages.push_back(storage);
  };
  if (tensor.layout() == c10::kSparse) {
    auto* impl = static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
    add(impl->indices());
    add(impl->values());
  } else if (tensor.is_sparse_csr() || tensor.layout() == c10::kSparseCsc || tensor.layout() == c10::kSparseBsr ||
             tensor.layout() == c10::kSparseBsc) {
    auto* impl = static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
    add(impl->compressed_indices());
    add(impl->plain_indices());
    add(impl->values());
  }
  return storages;
}

const void* audit_id(const accounting::StorageEntry* entry) noexcept {
  return entry == nullptr ? nullptr : reinterpret_cast<const void*>(static_cast<uintptr_t>(entry->id));
}

}  // namespace

SlotTable::SlotTable(uint32_t env_number, accounting::ExternalMemory& external, Flags& flags)
    : env_number_(env_number), external_(external), flags_(flags) {}

SlotTable::~SlotTable() {
  for (uint32_t index = 0; index < used_; ++index) {
    if (at(index).live) release_slot(index);
  }
  if (watch_ != nullptr && watch_->on()) audit::listen(false);
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

accounting::StorageEntry* SlotTable::charge_storage(c10::StorageImpl* storage, bool* is_new, bool is_tensor) {
  accounting::Change change;
  auto* entry = accounting::acquire(storage, external_, &change, is_tensor);
  external_.add(change.bytes);
  *is_new = change.first;
  if (change.resized && audit::enabled()) audit::storage_resized(audit_id(entry), entry->bytes);
  return entry;
}

void SlotTable::refund_entry(accounting::StorageEntry* entry, bool is_tensor) noexcept {
  const void* id = audit_id(entry);
  const accounting::Change change = accounting::release(entry, external_, is_tensor);
  external_.add(change.bytes);
  if (change.last && audit::enabled()) audit::storage_released(id);
}

void SlotTable::charge(Slot& slot) {
  bool is_new = false;
  if (auto* storage = storage_of(slot.tensor)) {
    slot.entry = charge_storage(storage, &is_new);
    return;
  }
  const auto storages = inner_storages(slot.tensor);
  if (storages.empty()) {
    accounting::count_storageless(1);
    return;
  }
  auto inner = std::make_unique<std::vector<accounting::StorageEntry*>>();
  inner->reserve(storages.size());
  try {
    for (auto* storage : storages) inner->push_back(charge_storage(storage, &is_new, inner->empty()));
  } catch (...) {  // out of memory: what was charged so far goes back
    refund_inner(*inner);
    throw;
  }
  slot.inner = std::move(inner);
  ++with_inner_;
}

void SlotTable::refund_inner(const std::vector<accounting::StorageEntry*>& inner) noexcept {
  bool is_tensor = true;  // the first stands for the tensor
  for (auto* entry : inner) {
    refund_entry(entry, is_tensor);
    is_tensor = false;
  }
}

void SlotTable::refund(Slot& slot) noexcept {
  if (slot.entry != nullptr) {
    refund_entry(slot.entry);
    slot.entry = nullptr;
    return;
  }
  if (slot.inner == nullptr) {
    accounting::count_storageless(-1);
    return;
  }
  refund_inner(*slot.inner);
  slot.inner.reset();
  --with_inner_;
}

Handle SlotTable::create(at::Tensor&& tensor) {
  check_thread();
  if (!tensor.defined()) return 0;
  const uint32_t index = take_slot();
  Slot& slot = at(index);
  slot.tensor = std::move(tensor);
  bool storage_is_new = false;
  try {
    if (auto* storage = storage_of(slot.tensor)) {
      slot.entry = charge_storage(storage, &storage_is_new);
    } else {
      charge(slot);
    }
  } catch (...) {  // out of memory: nobody will hear of this slot
    slot.tensor.reset();
    slot.next = free_head_;
    free_head_ = index;
    throw;
  }
  slot.live = true;
  ++live_;
  if (current_ != kNone) link(index, current_);
  if (audit::enabled()) record_birth(index, storage_is_new);
  return (static_cast<uint64_t>(slot.generation) << kIndexBits) | index;
}

at::Tensor* SlotTable::find(Handle handle) noexcept {
  check_thread();
  Slot* slot = live_slot(handle);
  return slot == nullptr ? nullptr : &slot->tensor;
}

void SlotTable::release_slot(uint32_t index) noexcept {
  Slot& slot = at(index);
  unlink(index);
  if (slot.record != 0) record_death(index);
  slot.live = false;
  --live_;
  refund(slot);
  // Last: freeing a tensor may free a whole autograd graph.
  at::Tensor dying = std::move(slot.tensor);
  // A slot whose generations are spent is retired, so that no stale handle can ever match again.
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
  // Freeing runs no JS, so nothing is queued meanwhile.
  for (const Handle handle : queued_) free(handle);
  queued_.clear();
}

void SlotTable::reconcile_slot(Slot& slot) {
  auto* storage = storage_of(slot.tensor);
  if (slot.entry != nullptr && slot.entry->key == storage) {
    const accounting::Change change = accounting::refresh(slot.entry, external_);
    external_.add(change.bytes);
    if (change.resized && audit::enabled()) audit::storage_resized(audit_id(slot.entry), slot.entry->bytes);
    return;
  }
  // Another storage: first take the new one, then let go of the old one, so that shared parts are not freed between.
  Slot old;
  old.entry = slot.entry;
  old.inner = std::move(slot.inner);
  slot.entry = nullptr;
  bool is_new = false;
  try {
    if (storage != nullptr) {
      slot.entry = charge_storage(storage, &is_new);
    } else {
      charge(slot);
    }
  } catch (...) {  // out of memory: the old charge stands, and is refunded as it was made
    slot.entry = old.entry;
    slot.inner = std::move(old.inner);
    throw;
  }
  if (audit::recording() && slot.record != 0 && slot.record != kWatchedOnly) {
    audit::storage_moved(slot.record, audit_id(slot.entry), slot.entry == nullptr ? 0 : slot.entry->bytes, is_new);
  }
  refund(old);
}

void SlotTable::reconcile(Handle handle) {
  check_thread();
  Slot* slot = live_slot(handle);
  if (slot == nullptr) return;
  const bool same = slot->entry != nullptr && slot->entry->key == storage_of(slot->tensor);
  if (same) {
    // The usual case: an op wrote into its output and moved nothing.
    if (slot->entry->borrowed || slot->entry->bytes != slot->entry->key->nbytes()) reconcile_slot(*slot);
    return;
  }
  c10::TensorImpl* impl = slot->tensor.unsafeGetTensorImpl();
  if (slot->tensor.use_count() == 1) {
    reconcile_slot(*slot);
    return;
  }
  // The tensor has other owners; some may be handles of ours that saw the same change.
  for (uint32_t index = 0; index < used_; ++index) {
    Slot& other = at(index);
    if (other.live && other.tensor.unsafeGetTensorImpl() == impl) reconcile_slot(other);
  }
}

void SlotTable::reconcile_inner() {
  check_thread();
  for (uint32_t index = 0; with_inner_ > 0 && index < used_; ++index) {
    Slot& slot = at(index);
    if (slot.live && slot.inner != nullptr) reconcile_slot(slot);
  }
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

uint32_t SlotTable::scope_index(ScopeId id) const noexcept {
  if (id == 0) return kNone;
  const uint64_t index = (id & kScopeIndexMask) - 1;
  if (index >= scopes_.size()) return kNone;
  const Scope& scope = scopes_[index];
  return scope.open && scope.generation == id >> kScopeIndexBits ? static_cast<uint32_t>(index) : kNone;
}

ScopeId SlotTable::scope_id(uint32_t index) const noexcept {
  return index == kNone ? 0 : (scopes_[index].generation << kScopeIndexBits) | (index + 1);
}

void SlotTable::set_current(uint32_t scope) noexcept {
  current_ = scope;
  flags_.scope = scope == kNone ? 0 : scope + 1;
}

ScopeId SlotTable::open_scope() {
  check_thread();
  uint32_t index = 0;
  if (!free_scopes_.empty()) {
    index = free_scopes_.back();
    free_scopes_.pop_back();
  } else {
    TORCH_CHECK(scopes_.size() < kScopeIndexMask, "more than ", kScopeIndexMask, " scopes are open in one thread");
    index = static_cast<uint32_t>(scopes_.size());
    scopes_.emplace_back();
    free_scopes_.reserve(scopes_.size());  // so that closing never allocates
  }
  Scope& scope = scopes_[index];
  scope.parent = current_;
  scope.children = 0;
  scope.open = true;
  if (current_ != kNone) ++scopes_[current_].children;
  set_current(index);
  return scope_id(index);
}

void SlotTable::end_scope(uint32_t index) noexcept {
  Scope& scope = scopes_[index];
  while (scope.head != kNone) release_slot(scope.head);
  scope.open = false;
  ++scope.generation;
  if (scope.parent != kNone) --scopes_[scope.parent].children;
  // An id must stay exact in a JS number; a scope whose generations are spent is retired, as slots are.
  if (scope.generation < kLastScopeGeneration) free_scopes_.push_back(index);
}

bool SlotTable::close_scope(ScopeId id) noexcept {
  check_thread();
  const uint32_t closing = scope_index(id);
  if (closing == kNone) return false;
  const auto is_inside = [&](uint32_t scope) {
    while (scope != kNone && scope != closing) scope = scopes_[scope].parent;
    return scope == closing;
  };
  const bool ends_current = is_inside(current_);
  const uint32_t parent = scopes_[closing].parent;
  // Innermost first: from the current scope outwards, which is all there is in synchronous code.
  uint32_t inner = ends_current ? current_ : closing;
  if (ends_current) set_current(parent);
  while (inner != closing && scopes_[inner].children == 0) {
    const uint32_t outer = scopes_[inner].parent;
    end_scope(inner);
    inner = outer;
  }
  // What is left are scopes that were opened inside and left open while others were current.
  while (scopes_[closing].children > 0) {
    for (uint32_t index = 0; index < scopes_.size(); ++index) {
      if (index != closing && scopes_[index].open && scopes_[index].children == 0 && is_inside(index)) end_scope(index);
    }
  }
  end_scope(closing);
  return true;
}

ScopeId SlotTable::parent_of(ScopeId id) const noexcept {
  const uint32_t index = scope_index(id);
  return index == kNone ? 0 : scope_id(scopes_[index].parent);
}

bool SlotTable::reparent(ScopeId id, ScopeId parent_id) noexcept {
  check_thread();
  const uint32_t index = scope_index(id);
  if (index == kNone) return false;
  const uint32_t parent = scope_index(parent_id);
  for (uint32_t outer = parent; outer != kNone; outer = scopes_[outer].parent) {
    if (outer == index) return false;
  }
  if (scopes_[index].parent != kNone) --scopes_[scopes_[index].parent].children;
  scopes_[index].parent = parent;
  if (parent != kNone) ++scopes_[parent].children;
  return true;
}

bool SlotTable::is_open(ScopeId id) const noexcept { return scope_index(id) != kNone; }

ScopeId SlotTable::scope_of(Handle handle) noexcept {
  Slot* slot = live_slot(handle);
  return slot == nullptr ? 0 : scope_id(slot->scope);
}

bool SlotTable::move(Handle handle, ScopeId id) noexcept {
  check_thread();
  if (live_slot(handle) == nullptr) return false;
  const auto index = static_cast<uint32_t>(handle & kIndexMask);
  const uint32_t scope = scope_index(id);
  unlink(index);
  if (scope != kNone) link(index, scope);
  return true;
}

}  // namespace ltn::handles
