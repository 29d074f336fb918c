// The memory libtorch itself holds: every byte from its CPU allocator, with or without a JS handle (autograd graphs,
// caches, temporaries, libtorch's own threads), and the limit on it.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <limits>

namespace ltn::accounting {

struct AllocatorTotals {
  uint64_t allocated_bytes;       // allocated and not yet freed
  uint64_t peak_allocated_bytes;  // maximum of allocated_bytes so far
};

// An allocation would have exceeded the limit, and a collection did not help. A c10::Error, so that it passes through
// libtorch and its threads like any error.
class MemoryLimitError : public c10::Error {
 public:
  using c10::Error::Error;
};

// The CPU's memory is exhausted, after a collection if that could help.
class ExhaustedError : public c10::OutOfMemoryError {
 public:
  using c10::OutOfMemoryError::OutOfMemoryError;
};

// Wraps the current CPU allocator in a counting one. Process-wide; further calls do nothing. Any thread. Blocks
// allocated before are freed by their own deleter and never counted.
void install_counting_cpu_allocator();

// Process-wide totals of the counting allocator. Any thread.
AllocatorTotals cpu_allocator_totals() noexcept;
uint64_t cpu_allocated_bytes() noexcept;
// Bytes of freed blocks that threads keep for their next tensors.
uint64_t cpu_kept_bytes() noexcept;
// Frees those of this thread.
void release_cpu_blocks() noexcept;
// Number of blocks allocated since the allocator was installed.
uint64_t cpu_allocations() noexcept;

// For callers that lose errors on the way, such as code behind a C interface: rethrows the last allocation failure of
// this thread since it was cleared, if any.
void clear_allocation_failure() noexcept;
void rethrow_allocation_failure();

// The deleter of every block from the counting allocator.
using Deleter = void (*)(void*);
Deleter counted_deleter() noexcept;

// Process-wide limit of allocated bytes. Any thread.
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
void set_memory_limit(uint64_t bytes) noexcept;
uint64_t memory_limit() noexcept;

// Frees unused memory when `bytes` would exceed the limit or could not be allocated. Process-wide; called on the
// allocating thread, inside an op.
using FreeMemory = void (*)(uint64_t bytes);
void set_free_memory(FreeMemory free_memory) noexcept;

}  // namespace ltn::accounting
