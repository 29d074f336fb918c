// Reports of births and deaths from the slot table to the audit's recorder and to this environment's watch.
#include "native/audit/audit.h"
#include "native/handles/graph_census.h"
#include "native/handles/large_births.h"
#include "native/handles/slot_table.h"
#include "native/handles/storage_of.h"

namespace ltn::handles {

void SlotTable::configure_watch(bool on, uint64_t sample_bytes, bool deaths) {
  check_thread();
  if (watch_ == nullptr) {
    if (!on) return;
    watch_ = std::make_unique<Watch>(0x9e3779b97f4a7c15u ^ (static_cast<uint64_t>(env_number_) << 32));
  }
  if (watch_->on() != on) audit::listen(on);
  watch_->configure(on, sample_bytes, deaths);
  flags_.audit_pending = audit::pending(env_number_) + watch_->waiting();
}

audit::Birth SlotTable::birth_of(const Slot& slot, const TensorFacts& facts, bool storage_is_new) const {
  audit::Birth birth;
  birth.storage =
      slot.entry == nullptr ? nullptr : reinterpret_cast<const void*>(static_cast<uintptr_t>(slot.entry->id));
  birth.storage_bytes = bytes_of(slot.entry);
  if (slot.inner != nullptr) {  // drawn by the sum in `sample` mode
    for (const auto* entry : *slot.inner) birth.storage_bytes += entry->bytes;
  }
  birth.storage_is_new = storage_is_new;
  birth.device_type = static_cast<int8_t>(facts.device.type());
  birth.device_index = static_cast<int8_t>(facts.device.index());
  birth.dtype = static_cast<int8_t>(facts.dtype);
  if (facts.has_sizes) {
    birth.sizes = facts.sizes.data();
    birth.ndim = facts.sizes.size();
  }
  birth.env = env_number_;
  birth.has_graph = !is_in_use(slot) && has_graph(slot.tensor);
  birth.owner = slot.scope == kNone ? audit::kCollector : audit_owner(slot.scope);
  return birth;
}

// Without a storage of its own: a sparse tensor, a model. Their parts are in the ledger.
void SlotTable::report_inner(const Slot& slot) noexcept {
  if (slot.inner == nullptr || slot.record == 0 || slot.record == kWatchedOnly) return;
  try {
    std::vector<audit::Part> parts;
    parts.reserve(slot.inner->size());
    for (const auto* entry : *slot.inner) parts.push_back({audit_id(entry), entry->bytes});
    audit::holds(slot.record, audit_capture_, parts);
  } catch (...) {  // out of memory
    audit::note_lost();
  }
}

void SlotTable::report_to_capture() noexcept {
  check_thread();
  const uint32_t capture = audit::capture();
  if (capture != 0 && capture != audit_capture_) report_all(capture, kNone);
}

uint32_t SlotTable::record_of(Handle handle) noexcept {
  const Slot* const slot = live_slot(handle);
  if (slot == nullptr || slot->record == kWatchedOnly || audit::capture() != audit_capture_) return 0;
  return slot->record;
}

// May run while a slot is being freed, in a finalizer too: the amount reported to V8 does not change, and no JavaScript
// runs.
void SlotTable::report_all(uint32_t capture, uint32_t but) noexcept {
  audit_capture_ = capture;
  for (uint32_t index = 0; index < used_; ++index) {
    Slot& slot = at(index);
    if (!slot.live || index == but) continue;
    if (slot.record != kWatchedOnly) slot.record = 0;  // its record was of another capture
    slot.unreported = !report_found(slot, capture);
    if (slot.unreported) loans_.defer(slot.tensor);  // it joins the capture when the batch has ended
  }
}

bool SlotTable::report_found(Slot& slot, uint32_t capture) noexcept {
  try {
    TensorFacts facts;
    if (!facts_of(slot, &facts)) return false;
    if (slot.alone && !is_in_use(slot)) publish(slot);  // each storage needs an id
    const uint32_t record = audit::found(birth_of(slot, facts, true), capture);
    if (record != 0) slot.record = record;
    report_inner(slot);
  } catch (...) {  // out of memory
    audit::note_lost();
  }
  return true;
}

// Whether to record a new storage that one slot holds alone. If `sample` mode does not draw it and no one else listens,
// it needs no entry in the ledger, which provides the ids for records. That halves the cost of this mode. `weight` is
// for record_birth.
bool SlotTable::is_recorded(uint64_t bytes, float* weight) noexcept {
  if (watch_ != nullptr && watch_->on()) return true;
  if (LargeBirths::of_thread().is_large(bytes)) return true;
  const uint32_t capture = audit::capture();
  if (capture == 0) return false;              // the listeners are of other threads
  if (capture != audit_capture_) return true;  // existing tensors must be reported first
  return audit::draws(bytes, weight);
}

void SlotTable::record_birth(uint32_t index, bool storage_is_new, float weight) {
  Slot& slot = at(index);
  const uint32_t capture = audit::capture();
  if (capture != 0) {
    if (capture != audit_capture_) report_all(capture, index);
    try {
      TensorFacts facts;
      slot.unreported = !facts_of(slot, &facts);
      if (!slot.unreported) slot.record = audit::created(birth_of(slot, facts, storage_is_new), capture, weight);
      report_inner(slot);
    } catch (...) {  // out of memory
      audit::note_lost();
    }
    flags_.audit_pending = audit::pending(env_number_);
  }
  const Handle handle = (static_cast<uint64_t>(slot.generation) << kIndexBits) | index;
  if (storage_is_new && slot.entry != nullptr) {
    LargeBirths& large = LargeBirths::of_thread();
    if (large.is_large(slot.entry->bytes)) large.born(env_number_, handle);
    flags_.audit_pending += large.waiting();
  }
  if (watch_ == nullptr || !watch_->on()) return;
  watch_->born(handle, index, bytes_of(slot.entry));
  if (slot.record == 0 && watch_->deaths()) slot.record = kWatchedOnly;
  flags_.audit_pending += watch_->waiting();
}

void SlotTable::record_death(uint32_t index) noexcept {
  Slot& slot = at(index);
  const bool was_known = slot.record != 0;
  report_to_capture();
  if (slot.record != 0 && slot.record != kWatchedOnly) audit::freed(slot.record, audit_capture_);
  slot.record = 0;
  if (was_known && watch_ != nullptr) {
    watch_->freed((static_cast<uint64_t>(slot.generation) << kIndexBits) | index, index);
  }
}

}  // namespace ltn::handles
