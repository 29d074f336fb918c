// Room inside an op: when an allocation would pass the limit, or fails, everything that JavaScript no longer needs is
// freed before it is tried once more. (Idea: CUDA's caching allocator, which asks its free-memory callbacks.)
#pragma once

#include <cstdint>

namespace ltn {

class EnvState;

// An environment of this thread can be asked from now on, or no more. Thread: the environment's.
void add_to_relief(EnvState* state);
void remove_from_relief(EnvState* state) noexcept;

// Collects on this thread when JavaScript may run here (inside an op), frees what finalizers queued, and asks the other
// environments to collect at their next tensor. `bytes` are wanted. Returns whether anything was freed. Any thread:
// where no op of JavaScript is in progress, nothing can be collected. For allocators of any device.
bool relieve(uint64_t bytes) noexcept;

}  // namespace ltn
