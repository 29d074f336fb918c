// Work deferred to the end of a batch: slots whose tensors were in use by a step.
#include "native/audit/audit.h"
#include "native/handles/slot_table.h"

namespace ltn::handles {

bool SlotTable::facts_of(const Slot& slot, TensorFacts* facts) const {
  if (loans_.any()) {
    if (const TensorFacts* known = loans_.facts(slot.tensor)) {
      *facts = *known;
      return true;
    }
    if (is_in_use(slot)) return false;
  }
  *facts = read_facts(slot.tensor);
  return true;
}

void SlotTable::defer(Slot& slot) noexcept {
  slot.due = true;
  loans_.defer(slot.tensor);
}

void SlotTable::reconcile_due() {
  check_thread();
  settle_used();
  loans_.begin_pass();
  try {
    for (uint32_t index = 0; index < used_; ++index) {
      Slot& slot = at(index);
      if (!slot.live) continue;
      if (loans_.is_returned_unnamed(slot.tensor)) slot.due = true;
      if (slot.due || slot.unreported) reconcile_due_slot(slot);
    }
  } catch (...) {  // out of memory: the rest is still marked
    loans_.keep_due();
    throw;
  }
  loans_.end_pass();
}

void SlotTable::reconcile_due_slot(Slot& slot) {
  if (is_in_use(slot)) {
    loans_.defer(slot.tensor);
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
  if (slot.unreported) slot.unreported = audit_capture_ == audit::capture() && !report_found(slot, audit_capture_);
}

}  // namespace ltn::handles
