// What the slot table tells of births and deaths: to the audit's recorder, and to the watch of this environment.
#include "native/audit/audit.h"
#include "native/handles/large_births.h"
#include "native/handles/slot_table.h"

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

void SlotTable::record_birth(uint32_t index, bool storage_is_new) {
  Slot& slot = at(index);
  if (audit::recording()) {
    const at::Tensor& tensor = slot.tensor;
    audit::Birth birth;
    birth.storage =
        slot.entry == nullptr ? nullptr : reinterpret_cast<const void*>(static_cast<uintptr_t>(slot.entry->id));
    birth.storage_bytes = slot.entry == nullptr ? 0 : slot.entry->bytes;
    birth.storage_is_new = storage_is_new;
    birth.device_type = static_cast<int8_t>(tensor.device().type());
    birth.device_index = static_cast<int8_t>(tensor.device().index());
    birth.dtype = static_cast<int8_t>(tensor.scalar_type());
    if (!tensor.is_nested()) {  // which has no sizes, and throws when asked
      birth.sizes = tensor.sizes().data();
      birth.ndim = tensor.sizes().size();
    }
    birth.env = env_number_;
    slot.record = audit::created(birth);
    flags_.audit_pending = audit::pending(env_number_);
  }
  const Handle handle = (static_cast<uint64_t>(slot.generation) << kIndexBits) | index;
  if (storage_is_new && slot.entry != nullptr) {
    LargeBirths& large = LargeBirths::of_thread();
    if (large.is_large(slot.entry->bytes)) large.born(env_number_, handle);
    flags_.audit_pending += large.waiting();
  }
  if (watch_ == nullptr || !watch_->on()) return;
  watch_->born(handle, index, slot.entry == nullptr ? 0 : slot.entry->bytes);
  if (slot.record == 0 && watch_->deaths()) slot.record = kWatchedOnly;
  flags_.audit_pending += watch_->waiting();
}

void SlotTable::record_death(uint32_t index) noexcept {
  Slot& slot = at(index);
  if (slot.record != kWatchedOnly) audit::freed(slot.record);
  slot.record = 0;
  if (watch_ != nullptr) watch_->freed((static_cast<uint64_t>(slot.generation) << kIndexBits) | index, index);
}

}  // namespace ltn::handles
