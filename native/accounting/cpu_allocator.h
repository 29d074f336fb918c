// What libtorch itself holds: every byte that passes through its CPU allocator, whether a JS handle sees it or not
// (autograd graphs, caches, temporaries, the work of libtorch's own threads), and the limit on it.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <limits>

namespace ltn::accounting {

struct AllocatorTotals {
  uint64_t allocated_bytes;       // asked for and not yet freed
  uint64_t peak_allocated_bytes;  // the highest allocated_bytes so far
};

// An allocation would have passed the limit, and a collection did not help.
// Of c10::Error, so that it crosses libtorch (its threads, too) as every error does.
class MemoryLimitError : public c10::Error {
 public:
  using c10::Error::Error;
};

// The CPU's memory is used up, after a collection where that could help.
class ExhaustedError : public c10::OutOfMemoryError {
 public:
  using c10::OutOfMemoryError::OutOfMemoryError;
};

// Puts a counting allocator around the CPU allocator in force. Process-wide; further calls do nothing. Any thread.
// Blocks allocated before are freed by their own deleter and are never counted.
void install_counting_cpu_allocator();

// Process-wide figures of the counting allocator. Any thread.
AllocatorTotals cpu_allocator_totals() noexcept;
uint64_t cpu_allocated_bytes() noexcept;
// Blocks that were given out since the allocator was put in place.
uint64_t cpu_allocations() noexcept;

// For callers whose way back loses errors, such as code behind a C interface: what the last allocation that failed on
// this thread threw is thrown again, if one failed since it was forgotten.
void forget_refusal() noexcept;
void throw_refusal();

// The deleter of every block that the counting allocator gave.
using Deleter = void (*)(void*);
Deleter counted_deleter() noexcept;

// Process-wide limit of allocated bytes. Any thread.
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
void set_memory_limit(uint64_t bytes) noexcept;
uint64_t memory_limit() noexcept;

// Frees what nobody needs, when `bytes` would pass the limit or could not be had. Process-wide; called on the thread
// that allocates, inside an op.
using Relief = void (*)(uint64_t bytes);
void set_relief(Relief relief) noexcept;

}  // namespace ltn::accounting
