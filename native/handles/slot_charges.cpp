// Charges of a slot: its storage's bytes, in the ledger or, while no one else holds the storage, in the slot itself.
#include <utility>

#include "native/audit/audit.h"
#include "native/handles/holder.h"
#include "native/handles/inner_tensors.h"
#include "native/handles/kept_shapes.h"
#include "native/handles/slot_table.h"
#include "native/handles/storage_of.h"

namespace ltn::handles {
namespace {

// The storages inside a tensor without its own.
std::vector<c10::StorageImpl*> inner_storages(const at::Tensor& tensor) {
  std::vector<c10::StorageImpl*> storages;
  for_each_inner(tensor, [&](const at::Tensor& part) {
    if (!part.defined()) return;
    if (auto* storage = storage_of(part)) storages.push_back(storage);
  });
  if (const Holder* holder = tensor.layout() == c10::kStrided ? Holder::of(tensor) : nullptr) {
    for (const c10::Storage& storage : holder->storages()) storages.push_back(storage.unsafeGetStorageImpl());
  }
  return storages;
}

bool is_holder(const at::Tensor& tensor) { return storage_of(tensor) == nullptr && Holder::of(tensor) != nullptr; }

}  // namespace

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

// Moves the charge from the slot to the ledger.
void SlotTable::publish(Slot& slot) {
  charge(slot);
  refund_alone(slot);
}

void SlotTable::publish_all() {
  for (uint32_t index = 0; index < used_; ++index) {
    if (at(index).alone && !is_in_use(at(index))) publish(at(index));
  }
}

// A new handle on `storage` appears during an op that may have taken the storage from an argument.
void SlotTable::publish_used(const c10::StorageImpl* storage) {
  for (const uint32_t index : used_alone_) {
    Slot& slot = at(index);
    if (slot.alone && storage_of(slot.tensor) == storage) publish(slot);
  }
}

void SlotTable::settle_used_alone() {
  for (const uint32_t index : used_alone_) {
    Slot& slot = at(index);
    if (slot.alone && !is_alone(slot.tensor, storage_of(slot.tensor))) publish(slot);
  }
  // A nested op ends inside the op whose arguments it computed: the outer one checks again.
  if (busy_ <= 1) used_alone_.clear();
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
  } catch (...) {  // out of memory: refund what was charged so far
    refund_inner(*inner);
    throw;
  }
  slot.inner = std::move(inner);
  ++with_inner_;
}

void SlotTable::refund_inner(const std::vector<accounting::StorageEntry*>& inner) noexcept {
  bool is_tensor = true;  // the first one counts the tensor
  for (auto* entry : inner) {
    refund_entry(entry, is_tensor);
    is_tensor = false;
  }
}

void SlotTable::refund(Slot& slot) noexcept {
  if (slot.alone) {
    refund_alone(slot);
    return;
  }
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
void SlotTable::reconcile_slot(Slot& slot) {
  auto* storage = storage_of(slot.tensor);
  if (slot.entry != nullptr && slot.entry->key == storage) {
    const accounting::Change change = accounting::refresh(slot.entry, external_);
    external_.add(change.bytes);
    if (change.resized && audit::enabled()) audit::storage_resized(audit_id(slot.entry), slot.entry->bytes);
    return;
  }
  // Another storage: acquire the new one before releasing the old one, so that shared parts are not freed in between.
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
  } catch (...) {  // out of memory: the old charge stays
    slot.entry = old.entry;
    slot.inner = std::move(old.inner);
    throw;
  }
  if (audit::recording() && slot.record != 0 && slot.record != kWatchedOnly) {
    const uint64_t bytes = bytes_of(slot.entry);
    audit::storage_moved(slot.record, audit_capture_, audit_id(slot.entry), bytes, is_new);
    report_inner(slot);  // before the old ones are released, so that those that stay keep their record
  }
  refund(old);
}

void SlotTable::reconcile_alone(Slot& slot) noexcept {
  const uint64_t bytes = storage_of(slot.tensor)->nbytes();
  if (bytes == slot.alone_bytes) return;
  refund_alone(slot);
  charge_alone(slot, bytes);
}

void SlotTable::reconcile(Handle handle) {
  check_thread();
  Slot* slot = live_slot(handle);
  if (slot == nullptr) return;
  if (is_in_use(*slot)) {
    defer(*slot);
    return;
  }
  if (slot->alone) {  // still alone after settle_used(); its storage may be another or larger
    reconcile_alone(*slot);
    return;
  }
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
  // The tensor has other owners; some may be handles that saw the same change, or a model that has it inside.
  for (uint32_t index = 0; index < used_; ++index) {
    Slot& other = at(index);
    if (!other.live) continue;
    if (other.tensor.unsafeGetTensorImpl() == impl) {
      reconcile_slot(other);
    } else if (is_holder(other.tensor)) {
      if (is_in_use(other)) {
        defer(other);
      } else {
        refresh_holder(other);
      }
    }
  }
}

bool SlotTable::empty_if_outgrown(Handle handle) {
  check_thread();
  Slot* slot = live_slot(handle);
  if (slot == nullptr || (loans_.any() && loans_.has(slot->tensor))) return false;  // checked at the end of the batch
  return handles::empty_if_outgrown(slot->tensor);
}

bool empty_if_outgrown(const at::Tensor& tensor) {
  if (!has_bounds(tensor) || !outgrows(tensor)) return false;
  tensor.unsafeGetTensorImpl()->set_storage_offset(0);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({0});
  return true;
}

void SlotTable::reconcile_inner() {
  check_thread();
  for (uint32_t index = 0; with_inner_ > 0 && index < used_; ++index) {
    Slot& slot = at(index);
    if (!slot.live || slot.inner == nullptr) continue;
    if (is_in_use(slot)) {
      defer(slot);
    } else if (slot.tensor.layout() != c10::kStrided) {
      reconcile_slot(slot);
    }
  }
}

// Whether the slot is a holder's. A holder with a part in use by a step is refreshed later.
bool SlotTable::refresh_holder(Slot& slot) {
  if (!is_holder(slot.tensor)) return false;
  const auto is_ours = [this](const at::Tensor& part) { return !loans_.any() || !loans_.has(part); };
  if (Holder::of(slot.tensor)->refresh(is_ours)) {
    reconcile_slot(slot);
  } else {
    slot.due = true;
    loans_.defer_all();
  }
  return true;
}

void SlotTable::reconcile_all() {
  check_thread();
  settle_used();
  for (uint32_t index = 0; index < used_; ++index) {
    Slot& slot = at(index);
    if (!slot.live) continue;
    if (is_in_use(slot)) {
      defer(slot);
      continue;
    }
    if (refresh_holder(slot) || slot.inner != nullptr) continue;
    reconcile((static_cast<uint64_t>(slot.generation) << kIndexBits) | index);
  }
}

}  // namespace ltn::handles
