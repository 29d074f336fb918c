#include "native/env/free_memory.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "native/env/env_state.h"
#include "native/share/token_table.h"

namespace ltn {
namespace {

// Environments of this thread: one, or one per loaded copy of the library (Jest).
thread_local std::vector<EnvState*> thread_states;
thread_local bool thread_is_freeing = false;

// All environments, to request collections. Guarded by process_mutex.
std::mutex process_mutex;
std::vector<EnvState*>& process_states() {
  static auto* states = new std::vector<EnvState*>;  // never destroyed: threads may end after static destructors
  return *states;
}

// Lifetime: a C++ block in a native call; closed on every exit, as Node-API requires. Thread: the environment's.
class HandleScope {
 public:
  explicit HandleScope(napi_env env) noexcept : env_(env), is_open_(napi_open_handle_scope(env, &scope_) == napi_ok) {}
  ~HandleScope() {
    if (is_open_) napi_close_handle_scope(env_, scope_);
  }
  HandleScope(const HandleScope&) = delete;
  HandleScope& operator=(const HandleScope&) = delete;
  bool is_open() const noexcept { return is_open_; }

 private:
  const napi_env env_;
  napi_handle_scope scope_ = nullptr;
  const bool is_open_;
};

// Adds the value if it may be a handle.
void add_handle(double number, std::vector<handles::Handle>* handles) {
  if (number > 0 && number < 9007199254740992.0) handles->push_back(static_cast<handles::Handle>(number));
}
void add_handle(napi_env env, napi_value value, std::vector<handles::Handle>* handles) {
  double number = 0;
  if (napi_get_value_double(env, value, &number) == napi_ok) add_handle(number, handles);
}

// Adds the handles of a list in Flags::ints.
void add_packed(const EnvState& state, napi_env env, napi_value value, std::vector<handles::Handle>* handles) {
  double number = 0;
  if (napi_get_value_double(env, value, &number) != napi_ok) return;
  size_t length = 0;
  const double* first = state.flags().packed(number, &length);
  for (size_t i = 0; first != nullptr && i < length; ++i) add_handle(first[i], handles);
}

// The handles that ops in progress use: their C++ frames hold references into these slots. Any number among the
// arguments counts, since only the op knows which are handles; a superfluous one only delays its release.
std::vector<handles::Handle> handles_in_use(const EnvState& state) {
  std::vector<handles::Handle> handles;
  for (const CallFrame* call = state.current_call(); call != nullptr; call = call->outer) {
    for (size_t i = 0; i < std::min(call->count, call->given); ++i) {
      uint32_t length = 0;
      if (napi_get_array_length(call->env, call->arguments[i], &length) != napi_ok) {
        add_handle(call->env, call->arguments[i], &handles);
        add_packed(state, call->env, call->arguments[i], &handles);
        continue;
      }
      for (uint32_t position = 0; position < length; ++position) {
        napi_value element = nullptr;
        if (napi_get_element(call->env, call->arguments[i], position, &element) == napi_ok) {
          add_handle(call->env, element, &handles);
        }
      }
    }
  }
  std::sort(handles.begin(), handles.end());
  return handles;
}

}  // namespace

void register_environment(EnvState* state) {
  thread_states.push_back(state);
  const std::lock_guard<std::mutex> lock(process_mutex);
  process_states().push_back(state);
}

void unregister_environment(EnvState* state) noexcept {
  const auto remove = [&](std::vector<EnvState*>& states) {
    states.erase(std::remove(states.begin(), states.end(), state), states.end());
  };
  remove(thread_states);
  const std::lock_guard<std::mutex> lock(process_mutex);
  remove(process_states());
}

bool free_unreachable(uint64_t) noexcept {
  if (thread_is_freeing) return false;  // a finalizer or the collector itself allocates
  EnvState* active = nullptr;
  for (EnvState* state : thread_states) {
    if (state->current_call() != nullptr) active = state;
  }
  try {
    const std::lock_guard<std::mutex> lock(process_mutex);
    for (EnvState* state : process_states()) {
      if (state != active) state->request_collection();
    }
  } catch (const std::system_error&) {  // the lock failed: the others are not notified
  }
  if (active == nullptr) return false;
  thread_is_freeing = true;
  size_t freed = 0;
  try {
    const HandleScope scope(active->env());
    if (scope.is_open()) {
      active->collect();
      share::sweep_expired();
      for (EnvState* state : thread_states) freed += state->slots().drain_except(handles_in_use(*state));
    }
  } catch (const std::bad_alloc&) {  // out of memory for the list of handles: nothing was freed
  }
  thread_is_freeing = false;
  return freed != 0;
}

void scavenge_before_op(EnvState& state) noexcept {
  const HandleScope scope(state.env());
  if (!scope.is_open()) return;
  thread_is_freeing = true;
  state.scavenge();
  thread_is_freeing = false;
}

void free_queued(EnvState& state) noexcept {
  try {
    state.slots().drain_except(handles_in_use(state));
  } catch (const std::bad_alloc&) {  // out of memory for the list of handles: the end of the op frees them
  }
}

}  // namespace ltn
