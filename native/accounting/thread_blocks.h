// The freed blocks that each thread keeps for its next tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "native/accounting/block_cache.h"
#include "native/accounting/large_blocks.h"

namespace ltn::accounting {

// A block starts with its size, so that the bytes refunded are exactly the bytes charged. 64 bytes preserve the
// alignment that libtorch's kernels rely on (gAlignment).
struct alignas(kBlockUnit) Header {
  uint64_t bytes;
};
static_assert(sizeof(Header) == kBlockUnit);

// The size of the block for so many bytes of data.
size_t block_bytes(uint64_t data) noexcept;
// A kept block of this thread for so many bytes of data, or null.
void* take_block(uint64_t data) noexcept;
// Keeps the block, or frees it with `free_block`.
void keep_block(void* block, uint64_t data, BlockCache::FreeBlock free_block) noexcept;
// Frees what this thread keeps.
void release_blocks() noexcept;
// What all threads keep, headers not included. Any thread.
uint64_t kept_bytes() noexcept;

}  // namespace ltn::accounting
