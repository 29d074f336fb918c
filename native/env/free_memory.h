// Freeing memory inside an op: when an allocation would exceed the limit, or fails, everything that JavaScript no
// longer needs is freed before one retry. (Idea: the free-memory callbacks of CUDA's caching allocator.)
#pragma once

#include <cstdint>

namespace ltn {

class EnvState;

// Registers or unregisters an environment of this thread. Thread: the environment's.
void register_environment(EnvState* state);
void unregister_environment(EnvState* state) noexcept;

// Collects on this thread if JavaScript may run here (inside an op), frees what finalizers queued, and requests a
// collection from the other environments at their next tensor. `bytes`: the size of the allocation. Returns whether
// anything was freed. Any thread: without an op of JavaScript in progress, nothing can be collected. For allocators of
// any device.
bool free_unreachable(uint64_t bytes) noexcept;

// Runs the scavenge that is due. Thread: the environment's, inside an op whose arguments are converted, before it
// allocates: its result may then have the block of the last one, which the processor's caches still have, and fewer
// results survive than after the op.
void scavenge_before_op(EnvState& state) noexcept;

// Frees what finalizers queued since the op in progress began, except what it uses. Thread: the environment's.
void free_queued(EnvState& state) noexcept;

}  // namespace ltn
