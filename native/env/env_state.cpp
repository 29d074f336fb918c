#include "native/env/env_state.h"

#include <c10/util/Logging.h>

#include <mutex>
#include <stdexcept>
#include <string>

#include "native/accounting/cpu_allocator.h"
#include "native/cuda/caching_allocator.h"
#include "native/env/end_sentinel.h"
#include "native/env/environment_end.h"
#include "native/env/free_memory.h"
#include "native/errors/js_errors.h"
#include "native/errors/thrown.h"
#include "native/share/token_table.h"

namespace ltn {
namespace {

std::atomic<uint32_t> process_env_count{0};
std::once_flag process_no_backtraces;

void report_external(void* env, int64_t bytes) {
  int64_t total = 0;
  napi_adjust_external_memory(static_cast<napi_env>(env), bytes, &total);
}

// Finalizers get the handle in the place of a pointer.
static_assert(sizeof(void*) == sizeof(uint64_t));
void* as_pointer(uint64_t handle) { return reinterpret_cast<void*>(static_cast<uintptr_t>(handle)); }
uint64_t as_handle(void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

EnvState::EnvState(napi_env env)
    : env_(env), number_(process_env_count.fetch_add(1) + 1), external_(&report_external, env), warnings_(env) {
  // The flags are in an ArrayBuffer allocated by V8, because some embedders forbid external ones.
  void* memory = nullptr;
  napi_value buffer = nullptr;
  if (napi_create_arraybuffer(env, sizeof(handles::Flags), &memory, &buffer) != napi_ok ||
      napi_create_reference(env, buffer, 1, &flags_ref_) != napi_ok) {
    throw std::runtime_error("libtorch-node could not create its flags");
  }
  flags_ = new (memory) handles::Flags;  // in V8's memory, which V8 frees
  slots_.emplace(number_, external_, *flags_);
  releases_ = ReleaseQueue::create(env);
  bound_.resize(op_count);
}

EnvState* EnvState::create(napi_env env) {
  accounting::install_counting_cpu_allocator();
  accounting::set_free_memory([](uint64_t bytes) { free_unreachable(bytes); });
  cuda::install_free_memory_callback(&free_unreachable);
  // libtorch symbolizes a C++ backtrace for every error, at several ms each; the library's errors never show it.
  std::call_once(process_no_backtraces, [] { c10::SetStackTraceFetcher([] { return std::string(); }); });
  auto* state = new EnvState(env);  // owned by the environment: close() and guard_finalized() delete it
  napi_add_env_cleanup_hook(env, &EnvState::close, state);
  end_pool_work_first(*state);
  register_environment(state);
  return state;
}

void EnvState::close(void* self) noexcept {
  auto* state = static_cast<EnvState*>(self);
  unregister_environment(state);
  state->closed_ = true;
  end_pool_work(*state);
  if (state->end_sentinel_ != nullptr) state->end_sentinel_->retire();
  state->strands_.clear();
  if (state->mailbox_ != nullptr) state->mailbox_->close();
  state->slots_.reset();
  share::process_tokens().end_environment(state->number_);
  state->releases_->close();
  state->warnings_.close();
  state->external_.flush();
  napi_delete_reference(state->env_, state->flags_ref_);
  if (state->collector_ != nullptr) napi_delete_reference(state->env_, state->collector_);
  if (state->due_scavenge_ != nullptr) napi_delete_reference(state->env_, state->due_scavenge_);
  if (state->error_sink_ != nullptr) napi_delete_reference(state->env_, state->error_sink_);
  if (is_main_thread()) main_environment_has_ended();
  if (state->guards_ == 0) delete state;
}

void EnvState::guard_finalized() noexcept {
  --guards_;
  if (closed_ && guards_ == 0) delete this;
}

void EnvState::finalize_tensor(node_api_basic_env, void* handle, void* self) {
  auto* state = static_cast<EnvState*>(self);
  if (!state->closed_) state->slots_->free_from_finalizer(as_handle(handle));
  state->guard_finalized();
}

void EnvState::finalize_generator(node_api_basic_env, void* handle, void* self) {
  auto* state = static_cast<EnvState*>(self);
  state->generators_.free(as_handle(handle));
  state->guard_finalized();
}

// V8 lets about 64 MB accumulate before it collects; large tensors justify an earlier collection of young objects. This
// asks for one each time that so many bytes are new; lib/memory/young.ts decides how many of them make it worth while.
// Memory of libtorch counts too: a small loss tensor may be the only JavaScript object of a graph of gigabytes.
void EnvState::request_collection_if_due() noexcept {
  constexpr uint64_t kYoungBytes = 2 * 1024 * 1024;
  const uint64_t allocated = accounting::cpu_allocated_bytes();
  if (allocated < young_requested_at_) young_requested_at_ = allocated;
  if (external_.charged_more_than(kYoungBytes) || allocated - young_requested_at_ > kYoungBytes) {
    young_requested_at_ = allocated;
    if (flags_->collect == handles::Flags::kNone) flags_->collect = handles::Flags::kScavenge;
  }
  const uint64_t limit = accounting::memory_limit();
  if (__builtin_expect(limit == accounting::kNoLimit, 1)) return;
  // Soft pressure: within the last eighth below the limit. Not again before another sixteenth is allocated.
  if (allocated <= limit - limit / 8) {
    soft_collect_above_ = 0;
  } else if (allocated > soft_collect_above_) {
    soft_collect_above_ = allocated + limit / 16;
    flags_->collect = handles::Flags::kCollectAll;
  }
}

void EnvState::open_mailbox(napi_value on_mail) {
  if (mailbox_ == nullptr) {
    mailbox_ = async::Mailbox::create(env_, on_mail);
  } else {
    mailbox_->set_receiver(on_mail);
  }
}

uint64_t EnvState::open_strand() {
  // Codes of results have room for this many (strand.h); the first ones are long finished when numbers wrap.
  constexpr uint64_t kMaxStrands = uint64_t{1} << 32;
  do {
    last_strand_ = last_strand_ % kMaxStrands + 1;
  } while (strands_.count(last_strand_) != 0);
  const uint64_t id = last_strand_;
  strands_.emplace(id, std::make_shared<async::Strand>(id));
  return id;
}

const std::shared_ptr<async::Strand>& EnvState::strand(uint64_t id) {
  const auto found = strands_.find(id);
  if (found == strands_.end())
    throw CodedError("ERR_TORCH_PENDING", "torch.run: expected a run in progress, got one that has ended");
  return found->second;
}

void EnvState::note_refusal(std::string_view code, const std::string& message) noexcept {
  if (flags_->recording == handles::Flags::kOff || (code != "ERR_TORCH_CAPTURE" && code != "ERR_TORCH_PENDING")) return;
  const auto found = strands_.find(current_strand_);
  if (found == strands_.end() || !found->second->captures || !found->second->refused.empty()) return;
  found->second->refused = message;
}

void EnvState::set_collectors(napi_value all, napi_value due) {
  const auto refer = [this](napi_ref* reference, napi_value function) {
    if (*reference != nullptr) napi_delete_reference(env_, *reference);
    *reference = nullptr;
    napi_create_reference(env_, function, 1, reference);
  };
  refer(&collector_, all);
  refer(&due_scavenge_, due);
}

void EnvState::call_collector(napi_ref collector) noexcept {
  napi_value function = nullptr;
  napi_value receiver = nullptr;
  if (collector == nullptr || napi_get_reference_value(env_, collector, &function) != napi_ok ||
      napi_get_undefined(env_, &receiver) != napi_ok) {
    return;
  }
  if (napi_call_function(env_, receiver, function, 0, nullptr, nullptr) == napi_ok) return;
  // E.g. a stack overflow. The allocation reports its own failure.
  napi_value ignored = nullptr;
  napi_get_and_clear_last_exception(env_, &ignored);
  renew_termination(env_);
}

napi_value EnvState::add_guard(napi_value object, node_api_basic_finalize finalize, uint64_t handle) {
  if (napi_add_finalizer(env_, object, as_pointer(handle), finalize, this, nullptr) != napi_ok) return nullptr;
  ++guards_;
  return object;
}

// An empty object: an external would cost a second weak handle, for the external itself.
napi_value EnvState::make_guard(handles::Handle handle) {
  request_collection_if_due();
  napi_value object = nullptr;
  if (napi_create_object(env_, &object) != napi_ok) return nullptr;
  return add_guard(object, &EnvState::finalize_tensor, handle);
}

napi_value EnvState::make_element_guard(handles::Handle handle) {
  request_collection_if_due();
  napi_value array = nullptr;
  if (napi_create_array_with_length(env_, 1, &array) != napi_ok) return nullptr;
  return add_guard(array, &EnvState::finalize_tensor, handle);
}

napi_value EnvState::make_generator_guard(uint64_t handle) {
  napi_value array = nullptr;
  if (napi_create_array_with_length(env_, 1, &array) != napi_ok) return nullptr;
  return add_guard(array, &EnvState::finalize_generator, handle);
}

void EnvState::set_error_sink(napi_value function) {
  if (error_sink_ != nullptr) napi_delete_reference(env_, error_sink_);
  error_sink_ = nullptr;
  napi_create_reference(env_, function, 1, &error_sink_);
}

void EnvState::complete_error(napi_value error, handles::Handle handle) noexcept {
  napi_value sink = nullptr;
  napi_value receiver = nullptr;
  napi_value number = nullptr;
  if (error_sink_ == nullptr || napi_get_reference_value(env_, error_sink_, &sink) != napi_ok ||
      napi_get_undefined(env_, &receiver) != napi_ok ||
      napi_create_double(env_, static_cast<double>(handle), &number) != napi_ok) {
    return;
  }
  napi_value arguments[] = {error, number};
  // An exception of the sink is dropped: the error it was to complete stays as it is.
  if (napi_call_function(env_, receiver, sink, 2, arguments, nullptr) == napi_ok) return;
  take_pending(env_);
  renew_termination(env_);
}

const BoundOp* EnvState::bound_op(size_t index) {
  bound_[index] = {this, op_rows[index], true};
  return &bound_[index];
}

const BoundOp* EnvState::bind_export(const OpRow& row) {
  return &bound_exports_.emplace_back(BoundOp{this, &row, false});
}

napi_value EnvState::flags_buffer() const {
  napi_value buffer = nullptr;
  napi_get_reference_value(env_, flags_ref_, &buffer);
  return buffer;
}

}  // namespace ltn
