#include "native/env/environment_end.h"

#if defined(__APPLE__)
#include <pthread.h>
#else
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>

#include "native/async/modes.h"
#include "native/async/pool.h"
#include "native/env/env_state.h"

namespace ltn {
namespace {

std::atomic<bool> process_main_ended{false};

void hook(void* state) {
  end_pool_work(*static_cast<EnvState*>(state));
  async::clear_autocast_cache();  // of a worker that was terminated in a region
}

}  // namespace

void end_pool_work(EnvState& state) noexcept {
  // Without a mailbox nothing was ever submitted, nor without a pool.
  async::Pool* const pool = async::Pool::existing();
  if (state.mailbox() != nullptr && pool != nullptr) pool->end(state.mailbox().get());
}

void end_pool_work_first(EnvState& state) noexcept {
  napi_remove_env_cleanup_hook(state.env(), &hook, &state);
  napi_add_env_cleanup_hook(state.env(), &hook, &state);
}

void main_environment_has_ended() noexcept { process_main_ended.store(true); }
bool has_main_environment_ended() noexcept { return process_main_ended.load(); }

// A terminated environment refuses every function that could run JavaScript; the one here runs none.
bool is_terminated(napi_env env) noexcept {
  napi_handle_scope scope = nullptr;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return false;
  napi_value value = nullptr, same = nullptr;
  bool has_error = true;
  const bool can_ask = napi_get_boolean(env, true, &value) == napi_ok &&
                       napi_is_exception_pending(env, &has_error) == napi_ok && !has_error;
  const bool refused = can_ask && napi_coerce_to_bool(env, value, &same) != napi_ok;
  napi_close_handle_scope(env, scope);
  return refused;
}

#if defined(__APPLE__)
bool is_main_thread() noexcept { return pthread_main_np() != 0; }
#else
bool is_main_thread() noexcept { return syscall(SYS_gettid) == getpid(); }
#endif

}  // namespace ltn
