// An external buffer that Node frees first when an environment ends.
#pragma once

#include <node_api.h>

namespace ltn {

class EnvState;

// Node frees the memory of external buffers, the newest first, before it calls any cleanup hook. The sentinel is such a
// buffer: its finalizer waits for the environment's work on the pool, so buffers created before it keep their memory
// until then. Lifetime: from put() until Node calls the finalizer, which owns it. The environment references it, so the
// finalizer is called only at the environment's end. Thread: the environment's JS thread.
class EndSentinel {
 public:
  // Creates a sentinel, replacing the environment's previous one. Does nothing if the runtime forbids external buffers:
  // then there are none to wait for.
  static void put(EnvState& state) noexcept;
  // The environment ends, or another sentinel replaces it.
  void retire() noexcept;

  EndSentinel(const EndSentinel&) = delete;
  EndSentinel& operator=(const EndSentinel&) = delete;

 private:
  EndSentinel() noexcept = default;
  static void finalize(node_api_basic_env env, void* data, void* self);

  EnvState* state_ = nullptr;  // set while it is the environment's sentinel
  napi_ref reference_ = nullptr;
  char memory_ = 0;  // the buffer's memory
};

}  // namespace ltn
