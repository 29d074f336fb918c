// What has to happen when an environment ends, before its memory and that of others goes.
#pragma once

namespace ltn {

class EnvState;

// Cancels the environment's work on the pool and waits for the op in progress, which may be reading memory that
// somebody's cleanup hook frees. The environment's JS thread only.
void end_pool_work(EnvState& state) noexcept;

// Has end_pool_work() called at the environment's end, before the cleanup hooks and the finalizers of external buffers
// that exist now: both run last added, first run. Called before work is given to the pool, if memory was lent to a
// tensor since the last time: its owner's exist by then.
void end_pool_work_first(EnvState& state) noexcept;

// The main thread's environment has ended, and with it V8's allocator: memory of its ArrayBuffers cannot be given back
// any more. A worker's allocator lives as long as its memory does.
void main_environment_has_ended() noexcept;
bool has_main_environment_ended() noexcept;

// Whether this is the thread that the process began with.
bool is_main_thread() noexcept;

}  // namespace ltn
