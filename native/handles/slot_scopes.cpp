// Scopes: a tree of lists of slots. See slot_table.h.
#include "native/audit/audit.h"
#include "native/handles/slot_table.h"

namespace ltn::handles {
namespace {

constexpr uint64_t kLastScopeGeneration = (uint64_t{1} << (53 - kScopeIndexBits)) - 1;
constexpr uint64_t kScopeIndexMask = (uint64_t{1} << kScopeIndexBits) - 1;

}  // namespace

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

// The id of a scope in captures. The low 20 bits distinguish scopes that are open at a time. The 12 bits above wrap
// after 4,095 scopes in one place and are never 0, so no scope equals kCollector or kKept.
uint32_t SlotTable::audit_number(ScopeId id) noexcept {
  constexpr uint64_t kRounds = (uint64_t{1} << (32 - kScopeIndexBits)) - 1;
  const uint64_t generation = id >> kScopeIndexBits;
  return static_cast<uint32_t>(((generation - 1) % kRounds + 1) << kScopeIndexBits | (id & kScopeIndexMask));
}

uint32_t SlotTable::audit_owner(uint32_t scope) const noexcept { return audit_number(scope_id(scope)); }

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
    free_scopes_.reserve(scopes_.capacity());  // so that closing never allocates
  }
  Scope& scope = scopes_[index];
  scope.open = true;
  join_parent(index, current_);
  set_current(index);
  return scope_id(index);
}

void SlotTable::join_parent(uint32_t index, uint32_t parent) noexcept {
  Scope& scope = scopes_[index];
  scope.parent = parent;
  scope.previous = scope.next = kNone;
  if (parent == kNone) return;
  scope.next = scopes_[parent].first_child;
  if (scope.next != kNone) scopes_[scope.next].previous = index;
  scopes_[parent].first_child = index;
}

void SlotTable::leave_parent(uint32_t index) noexcept {
  const Scope& scope = scopes_[index];
  if (scope.parent == kNone) return;
  if (scope.previous != kNone) {
    scopes_[scope.previous].next = scope.next;
  } else {
    scopes_[scope.parent].first_child = scope.next;
  }
  if (scope.next != kNone) scopes_[scope.next].previous = scope.previous;
}

// Ends a scope without open scopes inside.
void SlotTable::end_scope(uint32_t index) noexcept {
  Scope& scope = scopes_[index];
  while (scope.head != kNone) release_slot(scope.head);
  scope.open = false;
  ++scope.generation;
  leave_parent(index);
  // An id must stay exact in a JS number; a scope with exhausted generations is retired, like slots.
  if (scope.generation < kLastScopeGeneration) free_scopes_.push_back(index);
}

bool SlotTable::close_scope(ScopeId id) noexcept {
  check_thread();
  const uint32_t closing = scope_index(id);
  if (closing == kNone) return false;
  bool ends_current = false;
  const uint32_t parent = scopes_[closing].parent;
  // Innermost first, each once: go down to a scope with none inside, end it, and continue from its parent. The child
  // opened last comes first in the list, so in synchronous code the walk starts at the current scope.
  for (uint32_t inner = closing;;) {
    if (scopes_[inner].first_child != kNone) {
      inner = scopes_[inner].first_child;
      continue;
    }
    const uint32_t outer = scopes_[inner].parent;
    ends_current |= inner == current_;
    end_scope(inner);
    if (inner == closing) break;
    inner = outer;
  }
  if (ends_current) set_current(parent);
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
  leave_parent(index);
  join_parent(index, parent);
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
  const uint32_t record = at(index).record;
  if (record != 0 && record != kWatchedOnly && audit::recording()) {
    audit::moved(record, audit_capture_, scope == kNone ? audit::kKept : audit_owner(scope));
  }
  return true;
}

}  // namespace ltn::handles
