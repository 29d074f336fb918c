// Memory that Node frees first among external buffers when an environment ends.
#pragma once

#include <node_api.h>

namespace ltn {

class EnvState;

// Node frees the memory of external buffers, the last that was made first, before it calls any cleanup hook. The
// sentinel is such a buffer: its finalizer waits for the environment's work on the pool, and so the buffers that were
// there before it keep their memory until then. Lifetime: from put() until Node calls the finalizer, which owns it.
// While it is the environment's it is referenced, so the finalizer is called at the environment's end alone. Thread:
// the environment's JS thread.
class EndSentinel {
 public:
  // In place of the environment's sentinel, if it has one. Where the runtime forbids external buffers there are none to
  // wait for, and nothing happens.
  static void put(EnvState& state) noexcept;
  // The environment ends, or another takes its place.
  void retire() noexcept;

  EndSentinel(const EndSentinel&) = delete;
  EndSentinel& operator=(const EndSentinel&) = delete;

 private:
  EndSentinel() noexcept = default;
  static void finalize(node_api_basic_env env, void* data, void* self);

  EnvState* state_ = nullptr;  // while it is the environment's
  napi_ref reference_ = nullptr;
  char memory_ = 0;  // of the buffer
};

}  // namespace ltn
