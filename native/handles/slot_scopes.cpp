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
  const uint32_t record = at(index).record;
  if (record != 0 && record != kWatchedOnly && audit::recording()) {
    audit::moved(record, audit_capture_, scope == kNone ? audit::kKept : static_cast<uint32_t>(scope_id(scope)));
  }
  return true;
}

}  // namespace ltn::handles
