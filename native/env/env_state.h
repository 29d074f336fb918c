// All native state of one environment: the main thread or one worker. Nothing here is process-wide.
#pragma once

#include <ATen/core/Generator.h>
#include <node_api.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "native/accounting/external_memory.h"
#include "native/async/mailbox.h"
#include "native/async/strand.h"
#include "native/env/call_frame.h"
#include "native/env/release_queue.h"
#include "native/env/warnings.h"
#include "native/handles/object_table.h"
#include "native/handles/slot_table.h"
#include "native/schema/op_table.h"

namespace ltn {

class EndSentinel;

// Lifetime: created when the addon is loaded into an environment. The environment's cleanup hook closes it (frees every
// tensor); the object itself is deleted after the last guard's finalizer, because those run after the hook. Thread: the
// environment's JS thread only.
class EnvState {
 public:
  static EnvState* create(napi_env env);

  napi_env env() const noexcept { return env_; }
  uint32_t number() const noexcept { return number_; }
  handles::SlotTable& slots() noexcept { return *slots_; }
  handles::Flags& flags() noexcept { return *flags_; }
  const handles::Flags& flags() const noexcept { return *flags_; }
  Warnings& warnings() noexcept { return warnings_; }
  ObjectTable<at::Generator>& generators() noexcept { return generators_; }
  accounting::ExternalMemory& external() noexcept { return external_; }
  const std::shared_ptr<ReleaseQueue>& releases() noexcept { return releases_; }
  const BoundOp* bound_op(size_t index);
  const BoundOp* bind_export(const OpRow& row);
  napi_value flags_buffer() const;  // the ArrayBuffer over handles::Flags
  bool closed() const noexcept { return closed_; }
  uint64_t guards() const noexcept { return guards_; }

  // The innermost op in progress; null while JavaScript runs.
  CallFrame* current_call() const noexcept { return current_call_; }
  void set_current_call(CallFrame* call) noexcept { current_call_ = call; }

  // `on_mail()` is called when batches have ended. It replaces the previous one.
  void open_mailbox(napi_value on_mail);
  const std::shared_ptr<async::Mailbox>& mailbox() noexcept { return mailbox_; }
  uint64_t open_strand();
  // Throws CodedError if it has ended.
  const std::shared_ptr<async::Strand>& strand(uint64_t id);
  void enter_strand(uint64_t id) noexcept { current_strand_ = id; }
  async::Strand& current_strand() { return *strand(current_strand_); }
  // A captured function may catch the error: the strand keeps why it cannot be replayed.
  void note_refusal(std::string_view code, const std::string& message) noexcept;
  void close_strand(uint64_t id) noexcept { strands_.erase(id); }

  // A tensor borrowed the memory of a buffer. take_borrowed(): whether that happened since the last call.
  void note_borrowed() noexcept { borrowed_ = true; }
  bool take_borrowed() noexcept { return std::exchange(borrowed_, false); }
  // Keeps other addons' buffers until the pool's work has ended; null until pool work has borrowed memory.
  EndSentinel* end_sentinel() noexcept { return end_sentinel_; }
  void set_end_sentinel(EndSentinel* sentinel) noexcept { end_sentinel_ = sentinel; }

  // The JS functions that collect everything unreachable, and run the scavenge that is due (Flags::kBeforeOp).
  void set_collectors(napi_value all, napi_value due);
  // Call them. Only inside an op.
  void collect() noexcept { call_collector(collector_); }
  void scavenge() noexcept { call_collector(due_scavenge_); }
  // The next tensor owned by the collector starts a full collection. Any thread, while the environment is registered.
  void request_collection() noexcept {
    __atomic_store_n(&flags_->collect, handles::Flags::kCollectAll, __ATOMIC_RELAXED);
  }

  // An object that frees `handle` when the collector drops it, or null if it cannot be created. (Idea: ocaml-torch's
  // finalizer per tensor, but run during the collection, see node_api_basic_finalize.)
  napi_value make_guard(handles::Handle handle);
  // The same as an array with one element, the handle number: for a tensor in a list.
  napi_value make_element_guard(handles::Handle handle);
  napi_value make_generator_guard(uint64_t handle);  // also such an array

  // `sink(error, handle)` completes each error created by native code: lib/errors/caller.ts, and under
  // LIBTORCH_NODE_DEBUG lib/observe/debug.ts, for which `handle` is the disposed tensor's, otherwise 0. Null until it
  // is set.
  void set_error_sink(napi_value function);
  void complete_error(napi_value error, handles::Handle handle) noexcept;

  EnvState(const EnvState&) = delete;
  EnvState& operator=(const EnvState&) = delete;

 private:
  explicit EnvState(napi_env env);
  void call_collector(napi_ref collector) noexcept;
  ~EnvState() = default;
  static void close(void* self) noexcept;
  static void finalize_tensor(node_api_basic_env env, void* handle, void* self);
  static void finalize_generator(node_api_basic_env env, void* handle, void* self);
  napi_value add_guard(napi_value object, node_api_basic_finalize finalize, uint64_t handle);
  void guard_finalized() noexcept;
  void request_collection_if_due() noexcept;

  const napi_env env_;
  const uint32_t number_;
  accounting::ExternalMemory external_;
  napi_ref flags_ref_ = nullptr;
  napi_ref error_sink_ = nullptr;
  handles::Flags* flags_ = nullptr;  // inside that ArrayBuffer
  std::optional<handles::SlotTable> slots_;
  ObjectTable<at::Generator> generators_;
  std::shared_ptr<ReleaseQueue> releases_;
  Warnings warnings_;
  std::vector<BoundOp> bound_;  // one per row of the op table; never reallocated
  std::deque<BoundOp> bound_exports_;
  std::shared_ptr<async::Mailbox> mailbox_;  // null until the first strand
  std::unordered_map<uint64_t, std::shared_ptr<async::Strand>> strands_;
  uint64_t last_strand_ = 0;
  uint64_t current_strand_ = 0;
  uint64_t guards_ = 0;
  CallFrame* current_call_ = nullptr;
  EndSentinel* end_sentinel_ = nullptr;  // owned by its finalizer
  bool borrowed_ = false;
  napi_ref collector_ = nullptr;
  napi_ref due_scavenge_ = nullptr;
  uint64_t young_requested_at_ = 0;  // allocatedBytes when a young collection was last requested
  uint64_t soft_collect_above_ = 0;  // under a memory limit: no full collection until allocatedBytes exceed this
  bool closed_ = false;
};

}  // namespace ltn
