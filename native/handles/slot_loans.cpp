// What waited for a batch to end: slots that were not looked at while a step had their tensors.
#include "native/audit/audit.h"
#include "native/handles/slot_table.h"

namespace ltn::handles {

bool SlotTable::facts_of(const Slot& slot, TensorFacts* facts) const {
  if (loans_.any()) {
    if (const TensorFacts* known = loans_.facts(slot.tensor)) {
      *facts = *known;
      return true;
    }
    if (is_out(slot)) return false;
  }
  *facts = look_at(slot.tensor);
  return true;
}

void SlotTable::put_off(Slot& slot) noexcept {
  slot.due = true;
  loans_.put_off(slot.tensor);
}

void SlotTable::take_up_due() {
  check_thread();
  settle_used();
  loans_.begin_look();
  try {
    for (uint32_t index = 0; index < used_; ++index) {
      Slot& slot = at(index);
      if (!slot.live) continue;
      if (loans_.is_returned_unnamed(slot.tensor)) slot.due = true;
      if (slot.due || slot.untold) take_up_slot(slot);
    }
  } catch (...) {  // out of memory: what is left is still marked
    loans_.stays_due();
    throw;
  }
  loans_.end_look();
}

void SlotTable::take_up_slot(Slot& slot) {
  if (is_out(slot)) {
    loans_.put_off(slot.tensor);
    return;
  }
  if (slot.due) {
    slot.due = false;
    try {
      if (slot.alone) {
        reconcile_alone(slot);
      } else if (!refresh_holder(slot)) {
        reconcile_slot(slot);
      }
    } catch (...) {  // out of memory
      slot.due = true;
      throw;
    }
  }
  if (slot.untold) slot.untold = audit_capture_ == audit::capture() && !tell_found(slot, audit_capture_);
}

}  // namespace ltn::handles
