#include "native/accounting/thread_blocks.h"

#include <c10/core/alignment.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace ltn::accounting {
namespace {

// The data begins after the header, in a block that libtorch's allocator has aligned: on this processor, too, as
// kernels expect it.
static_assert(kBlockUnit % c10::gAlignment == 0 && (kBlockUnit & (kBlockUnit - 1)) == 0);

size_t units_of(uint64_t data) noexcept { return (data + sizeof(Header) + kBlockUnit - 1) / kBlockUnit; }

#ifndef LTN_NO_BLOCK_CACHE
// Lifetime: one per thread that freed a block, until its end. Thread: its own, except `kept`.
struct ThreadBlocks {
  explicit ThreadBlocks(BlockCache::FreeBlock free_block) : small(free_block), large(free_block) {}

  // Only the thread writes, so no atomic addition is needed.
  void add(int64_t bytes) noexcept {
    kept.store(kept.load(std::memory_order_relaxed) + static_cast<uint64_t>(bytes), std::memory_order_relaxed);
  }

  BlockCache small;
  LargeBlocks large;
  std::atomic<uint64_t> kept{0};
};

// Those of all threads. Never destroyed: threads may end after static destructors have run.
struct Registry {
  std::mutex mutex;
  std::vector<const ThreadBlocks*> threads;
};
Registry& process_registry() {
  static auto& registry = *new Registry;
  return registry;
}

// A plain pointer: reading it needs no initialization check. Null before the first use on a thread, and after its end,
// when static destructors may still free tensors.
thread_local ThreadBlocks* thread_blocks = nullptr;
thread_local bool thread_ended = false;

ThreadBlocks* set_up_blocks(BlockCache::FreeBlock free_block) {
  struct Owner {
    explicit Owner(BlockCache::FreeBlock free_block) : blocks(free_block) {
      const std::lock_guard<std::mutex> lock(process_registry().mutex);
      process_registry().threads.push_back(&blocks);
    }
    ~Owner() {
      thread_blocks = nullptr;
      thread_ended = true;
      const std::lock_guard<std::mutex> lock(process_registry().mutex);
      auto& threads = process_registry().threads;
      threads.erase(std::find(threads.begin(), threads.end(), &blocks));
    }
    ThreadBlocks blocks;
  };
  if (thread_ended) return nullptr;
  thread_local Owner owner(free_block);
  thread_blocks = &owner.blocks;
  return thread_blocks;
}
#endif

}  // namespace

size_t block_bytes(uint64_t data) noexcept {
  if (LargeBlocks::takes(data)) return LargeBlocks::class_of(data).capacity + sizeof(Header);
  return units_of(data) * kBlockUnit;
}

#ifndef LTN_NO_BLOCK_CACHE
void* take_block(uint64_t data) noexcept {
  ThreadBlocks* blocks = thread_blocks;
  if (blocks == nullptr) return nullptr;
  if (data <= LargeBlocks::kMinData) {
    const size_t units = units_of(data);
    void* block = blocks->small.take(units);
    if (block != nullptr) blocks->add(-static_cast<int64_t>((units - 1) * kBlockUnit));
    return block;
  }
  if (!LargeBlocks::takes(data)) return nullptr;
  const size_t before = blocks->large.bytes();
  void* block = blocks->large.take(LargeBlocks::class_of(data));
  blocks->add(static_cast<int64_t>(blocks->large.bytes() - before));
  return block;
}

void keep_block(void* block, uint64_t data, BlockCache::FreeBlock free_block) noexcept {
  ThreadBlocks* blocks = data > LargeBlocks::kMaxData ? nullptr : thread_blocks;
  if (blocks == nullptr && data <= LargeBlocks::kMaxData) blocks = set_up_blocks(free_block);
  if (blocks == nullptr) {
    free_block(block);
  } else if (data <= LargeBlocks::kMinData) {
    const size_t units = units_of(data);
    if (blocks->small.keep(block, units)) {
      blocks->add(static_cast<int64_t>((units - 1) * kBlockUnit));
    } else {
      free_block(block);
    }
  } else {
    const size_t before = blocks->large.bytes();
    blocks->large.keep(block, LargeBlocks::class_of(data));
    blocks->add(static_cast<int64_t>(blocks->large.bytes() - before));
  }
}

void release_blocks() noexcept {
  ThreadBlocks* blocks = thread_blocks;
  if (blocks == nullptr) return;
  blocks->small.clear();
  blocks->large.clear();
  blocks->kept.store(0, std::memory_order_relaxed);
}

uint64_t kept_bytes() noexcept {
  Registry& registry = process_registry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  uint64_t sum = 0;
  for (const ThreadBlocks* blocks : registry.threads) sum += blocks->kept.load(std::memory_order_relaxed);
  return sum;
}
#else
void* take_block(uint64_t) noexcept { return nullptr; }
void keep_block(void* block, uint64_t, BlockCache::FreeBlock free_block) noexcept { free_block(block); }
void release_blocks() noexcept {}
uint64_t kept_bytes() noexcept { return 0; }
#endif

}  // namespace ltn::accounting
