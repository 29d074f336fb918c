// Work at the end of an environment, before its memory and that of others is freed.
#pragma once

#include <node_api.h>

namespace ltn {

class EnvState;

// Cancels the environment's work on the pool and waits for the op in progress, which may be reading memory that a
// cleanup hook frees. The environment's JS thread only.
void end_pool_work(EnvState& state) noexcept;

// Registers end_pool_work() for the environment's end, before the existing cleanup hooks and finalizers of external
// buffers: both run last added, first run. Called before work is submitted to the pool, if a tensor borrowed memory
// since the last time: the hooks of the memory's owner exist by then.
void end_pool_work_first(EnvState& state) noexcept;

// The main thread's environment has ended, and with it V8's allocator: memory of its ArrayBuffers cannot be returned
// any more. A worker's allocator lives as long as its memory.
void main_environment_has_ended() noexcept;
bool has_main_environment_ended() noexcept;

// Whether a worker was told to end while it runs native code (worker.terminate()). The environment's JS thread only.
bool is_terminated(napi_env env) noexcept;

// Whether this is the initial thread of the process.
bool is_main_thread() noexcept;

}  // namespace ltn
