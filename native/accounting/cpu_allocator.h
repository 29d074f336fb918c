// What libtorch itself holds: every byte that passes through its CPU allocator, whether a JS handle sees it or not
// (autograd graphs, caches, temporaries, the work of libtorch's own threads).
#pragma once

#include <cstdint>

namespace ltn::accounting {

struct AllocatorTotals {
  uint64_t allocated_bytes;       // asked for and not yet freed
  uint64_t peak_allocated_bytes;  // the highest allocated_bytes so far
};

// Puts a counting allocator around the CPU allocator in force. Process-wide; further calls do nothing. Any thread.
// Blocks allocated before are freed by their own deleter and are never counted.
void install_counting_cpu_allocator();

// Process-wide figures of the counting allocator. Any thread.
AllocatorTotals cpu_allocator_totals() noexcept;

}  // namespace ltn::accounting
