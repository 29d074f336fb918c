// The owner of every tensor that JavaScript can refer to.
//
// A JS tensor holds a number, its handle: slot index and generation. The table holds the at::Tensor. The first to free
// the slot (dispose, the end of its scope, the guard's finalizer, the end of the environment) frees the tensor; a later
// attempt finds a stale generation and does nothing. So nothing can be freed twice or used after free.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "codegen/model/flags.h"
#include "native/accounting/external_memory.h"
#include "native/accounting/storage_ledger.h"
#include "native/audit/audit.h"
#include "native/handles/loans.h"
#include "native/handles/watch.h"

namespace ltn::handles {

class GraphCensus;
struct Hidden;

// generation * 2^26 + index: exact in a JS number (53 bits). 0 is "no tensor".
using Handle = uint64_t;
constexpr int kIndexBits = 26;
constexpr int kGenerationBits = 27;
constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;
constexpr uint32_t kLastGeneration = (uint32_t{1} << kGenerationBits) - 1;
constexpr double kHandleEnd = 9007199254740992.0;  // 2^53: above every handle and scope id

// generation * 2^20 + index + 1. 0 is "no scope": the tensor belongs to the garbage collector.
using ScopeId = uint64_t;
constexpr int kScopeIndexBits = 20;

// State shared with JavaScript through one ArrayBuffer per environment.
using Flags = codegen::Flags;

// Empties a tensor whose shape exceeds its storage, and returns whether it did (SlotTable::empty_if_outgrown).
bool empty_if_outgrown(const at::Tensor& tensor);

// Lifetime: part of its environment; its destructor frees all tensors.
// Thread: the environment's JS thread only, finalizers included; a debug build (LTN_DEBUG) aborts otherwise.
// References: slots do not move, so a reference to a tensor is valid until its slot is freed. While a `Busy` exists,
// finalizers queue instead of freeing, so references taken inside it stay valid whatever the collector does.
class SlotTable {
 public:
  SlotTable(uint32_t env_number, accounting::ExternalMemory& external, Flags& flags);
  ~SlotTable();
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  // Takes the tensor, charges its storage, and puts it into the current scope. 0 for an undefined tensor.
  Handle create(at::Tensor&& tensor);

  // The live tensor of a handle, or null if it was freed.
  at::Tensor* find(Handle handle) noexcept;
  // Like find(), for an op that gets the tensor: afterwards someone else may hold it (settle_used).
  at::Tensor* use(Handle handle);
  // After an op: moves storages that are no longer held by one slot alone to the ledger, where a second handle finds
  // them.
  void settle_used() {
    if (!used_alone_.empty()) settle_used_alone();
  }

  // Frees the slot. False if it was free already.
  bool free(Handle handle) noexcept;

  // Like free(), but deferred to the end of an op in progress. For finalizers: runs during collection, calls no JS.
  void free_from_finalizer(Handle handle) noexcept;

  // Updates the charge after a mutating op: another storage (set_), another size (resize_).
  void reconcile(Handle handle);

  // The same for every tensor with inner storages (sparse). An op may replace these without having the tensor as an
  // argument: autograd accumulates into sparse gradients this way. Dense storages are written in place.
  void reconcile_inner();

  // The same for every tensor and holder: after a model changed its tensors, including those that JavaScript took from
  // it.
  void reconcile_all();

  // A batch is passed to the pool: until return_from() nothing here reads the contents of its tensors, nor of those it
  // may reach. Deferred work is done by reconcile_returned(). A slot may be freed at any time. If it throws, nothing
  // has changed.
  void lend_to(uint64_t borrower, const Borrowed& borrowed) {
    check_thread();
    loans_.begin(borrower, borrowed);
  }
  void return_from(uint64_t borrower) noexcept {
    check_thread();
    loans_.end(borrower);
  }
  void reconcile_returned() {
    if (loans_.is_due()) reconcile_due();
  }
  // Whether a batch of the pool may use tensors now.
  bool lends() const noexcept { return loans_.any(); }

  // Empties the tensor if its shape exceeds its storage, and returns whether it did. libtorch leaves such a tensor when
  // a resize fails half way, or when set_ gets a smaller storage; reading it would read foreign memory.
  bool empty_if_outgrown(Handle handle);

  // Opens a scope inside the current one and makes it current.
  ScopeId open_scope();
  // Frees everything the scope and the scopes inside it still own. If the current scope is among them, the parent of
  // `scope` becomes current. False if it was closed already.
  bool close_scope(ScopeId scope) noexcept;
  ScopeId current_scope() const noexcept { return scope_id(current_); }
  // Makes an open scope current, or none (0 or a closed one).
  void enter_scope(ScopeId scope) noexcept { set_current(scope_index(scope)); }
  ScopeId parent_of(ScopeId scope) const noexcept;  // nearest open one, 0 for none
  // Moves an open scope, with all inside it, under another parent (0: none), so it outlives the one it was opened in.
  // False if it is closed, or if `parent` lies inside it.
  bool reparent(ScopeId scope, ScopeId parent) noexcept;
  bool is_open(ScopeId scope) const noexcept;
  ScopeId scope_of(Handle handle) noexcept;
  // Its number in captures.
  static uint32_t audit_number(ScopeId scope) noexcept;
  // Moves the handle to `scope` (0: to the collector). False if the handle was freed.
  bool move(Handle handle, ScopeId scope) noexcept;

  size_t live() const noexcept { return live_; }

  // Frees what finalizers queued, even while an op is in progress, except `in_use` (sorted). Returns the number freed.
  size_t drain_except(const std::vector<Handle>& in_use) noexcept;
  // The record of births and deaths; null until configure_watch().
  Watch* watch() noexcept { return watch_.get(); }
  void configure_watch(bool on, uint64_t sample_bytes, bool deaths);
  static uint32_t index_of(Handle handle) noexcept { return static_cast<uint32_t>(handle & ((1u << kIndexBits) - 1)); }

  // Reports this table's tensors to a running capture that does not have them. Otherwise the next birth or death does
  // it.
  void report_to_capture() noexcept;

  // The audit's record of a live tensor in the running capture; 0 if none.
  uint32_t record_of(Handle handle) noexcept;
  // Counts what autograd graphs hold and reports it to the running capture: once a round, or right after a full
  // collection (`collected`). Its time grows with the number of tensors and of new nodes.
  void take_census(bool collected);

  // Calls visit(handle, facts, entries, entry count) for each live tensor, except those that a running step may reach
  // (Loans): nothing is known of them now. `visit` must not create or free one.
  template <class Visit>
  void for_each(Visit&& visit);

  // While one exists, finalizers queue. Can be nested.
  class Busy {
   public:
    explicit Busy(SlotTable& table) noexcept : table_(table) { ++table_.busy_; }
    ~Busy() {
      if (--table_.busy_ == 0 && !table_.queued_.empty()) table_.drain();
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    SlotTable& table_;
  };

 private:
  friend struct SlotTablePeek;  // of the tests

  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kWatchedOnly = UINT32_MAX;
  static constexpr uint32_t kChunkBits = 12;
  static constexpr uint32_t kChunk = 1u << kChunkBits;

  struct alignas(64) Slot {
    at::Tensor tensor;
    accounting::StorageEntry* entry = nullptr;  // null if free, alone or without a storage
    uint64_t alone_bytes = 0;                   // the charge while `alone`
    // Storages inside a tensor without its own (sparse indices and values).
    std::unique_ptr<std::vector<accounting::StorageEntry*>> inner;
    uint32_t generation = 1;                  // the low kGenerationBits are used
    uint32_t scope = kNone;                   // index of the owning scope
    uint32_t previous = kNone, next = kNone;  // in the scope's list; next also links free slots
    uint32_t record = 0;                      // the audit's, 0 if not recorded, kWatchedOnly for the watch alone
    bool live = false;
    bool alone = false;       // no one else holds the tensor or its storage: charged here, not in the ledger
    bool due = false;         // a running batch deferred reconcile_slot()
    bool unreported = false;  // a running batch deferred reporting it to the capture
  };

  struct Scope {
    uint32_t head = kNone;
    uint64_t generation = 1;
    uint32_t parent = kNone;
    uint32_t first_child = kNone;             // open child scopes, the last opened first
    uint32_t previous = kNone, next = kNone;  // in the list of the parent's children
    bool open = false;
  };

  static bool is_alone(const at::Tensor& tensor, const c10::StorageImpl* storage) noexcept;
  void charge_alone(Slot& slot, uint64_t bytes) noexcept;
  void refund_alone(Slot& slot) noexcept;
  void publish(Slot& slot);
  void publish_all();
  void publish_used(const c10::StorageImpl* storage);
  void settle_used_alone();
  Slot& at(uint32_t index) noexcept { return chunks_[index >> kChunkBits][index & (kChunk - 1)]; }
  Slot* live_slot(Handle handle) noexcept;
  uint32_t take_slot();
  void release_slot(uint32_t index) noexcept;
  void release_recorded(uint32_t index) noexcept;
  void release_tensor(uint32_t index) noexcept;
  Hidden hidden_of(const Slot& slot) const noexcept;
  void charge(Slot& slot);  // all or, if it throws, nothing
  void refund(Slot& slot) noexcept;
  void refund_inner(const std::vector<accounting::StorageEntry*>& inner) noexcept;
  void end_scope(uint32_t index) noexcept;
  void join_parent(uint32_t index, uint32_t parent) noexcept;
  void leave_parent(uint32_t index) noexcept;
  uint32_t audit_owner(uint32_t scope) const noexcept;
  void link(uint32_t index, uint32_t scope) noexcept;
  void unlink(uint32_t index) noexcept;
  void drain() noexcept;
  bool is_recorded(uint64_t bytes, float* weight) noexcept;
  void record_birth(uint32_t index, bool storage_is_new, float weight);
  audit::Birth birth_of(const Slot& slot, const TensorFacts& facts, bool storage_is_new) const;
  // False if it must be reported later.
  bool report_found(Slot& slot, uint32_t capture) noexcept;
  void report_inner(const Slot& slot) noexcept;
  void report_all(uint32_t capture, uint32_t but) noexcept;
  void record_death(uint32_t index) noexcept;
  accounting::StorageEntry* charge_storage(c10::StorageImpl* storage, bool* is_new, bool is_tensor = true);
  void refund_entry(accounting::StorageEntry* entry, bool is_tensor = true) noexcept;
  uint32_t scope_index(ScopeId id) const noexcept;  // kNone if it is not open
  ScopeId scope_id(uint32_t index) const noexcept;
  void set_current(uint32_t scope) noexcept;
  void reconcile_slot(Slot& slot);
  bool refresh_holder(Slot& slot);
  // Whether a running step has the tensor, or may reach it.
  bool is_in_use(const Slot& slot) const noexcept {
    return loans_.any() && (loans_.has(slot.tensor) || loans_.reaches(slot.tensor));
  }
  // False if nothing is known of the tensor now.
  bool facts_of(const Slot& slot, TensorFacts* facts) const;
  void defer(Slot& slot) noexcept;
  void reconcile_due();
  void reconcile_due_slot(Slot& slot);
  void reconcile_alone(Slot& slot) noexcept;
  void check_thread() const noexcept;

  const uint32_t env_number_;
  accounting::ExternalMemory& external_;
  Flags& flags_;
  std::vector<std::unique_ptr<Slot[]>> chunks_;
  uint32_t used_ = 0;           // slots ever taken
  uint32_t free_head_ = kNone;  // free slots, last freed first: it is warm
  std::vector<Scope> scopes_;
  std::vector<uint32_t> free_scopes_;
  uint32_t current_ = kNone;
  std::vector<Handle> queued_;
  std::vector<uint32_t> used_alone_;  // slots that were alone when the op in progress took them
  accounting::SoleTotals alone_;
  int busy_ = 0;
  size_t live_ = 0;
  size_t with_inner_ = 0;  // slots that have `inner`
  Loans loans_;
  uint32_t audit_capture_ = 0;  // the capture that the slots' records belong to
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<GraphCensus> census_;  // null until something was recorded
#ifdef LTN_DEBUG
  const std::thread::id thread_ = std::this_thread::get_id();
#endif
};

template <class Visit>
void SlotTable::for_each(Visit&& visit) {
  publish_all();  // so that each storage has an entry
  TensorFacts facts;
  for (uint32_t index = 0; index < used_; ++index) {
    Slot& slot = at(index);
    if (!slot.live || !facts_of(slot, &facts)) continue;
    const Handle handle = (static_cast<uint64_t>(slot.generation) << kIndexBits) | index;
    const bool many = slot.inner != nullptr;
    visit(handle, facts, many ? slot.inner->data() : &slot.entry,
          many ? slot.inner->size() : static_cast<size_t>(slot.entry != nullptr));
  }
}

}  // namespace ltn::handles
