// Cache of small blocks that one thread freed, for its next tensors.
//
// Most tensors of a scope are small and are freed together; the next scope needs the same sizes. libtorch's own
// allocator calls posix_memalign for each, which costs up to a tenth of a small op.
#pragma once

#include <cstddef>
#include <cstdint>

// Off under sanitizers: a reused block would hide a use after free.
#if !defined(LTN_NO_BLOCK_CACHE) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define LTN_NO_BLOCK_CACHE
#endif

namespace ltn::accounting {

// Blocks are counted in units of 64 bytes, which is also their alignment.
constexpr size_t kBlockUnit = 64;

// Lifetime: one per thread that freed a block; at the thread's end all blocks are returned. Thread: its own. A block
// may have been allocated on another one.
class BlockCache {
 public:
  using FreeBlock = void (*)(void* block);
  static constexpr size_t kMaxUnits = 33;                 // 2 KiB of data and its header
  static constexpr size_t kMaxBytesPerSize = 256 * 1024;  // maximum kept per thread and size

  explicit BlockCache(FreeBlock free_block) noexcept : free_block_(free_block) {}
  ~BlockCache() { clear(); }
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // A block of `units`, at most kMaxUnits, or null.
  void* take(size_t units) noexcept {
    List& list = lists_[units];
    Free* block = list.first;
    if (block == nullptr) return nullptr;
    list.first = block->next;
    --list.count;
    return block;
  }

  // False if enough blocks of that size are kept.
  bool keep(void* block, size_t units) noexcept {
    List& list = lists_[units];
    if ((list.count + 1) * units * kBlockUnit > kMaxBytesPerSize) return false;
    auto* free = static_cast<Free*>(block);
    free->next = list.first;
    list.first = free;
    ++list.count;
    return true;
  }

  void clear() noexcept {
    for (List& list : lists_) {
      while (list.first != nullptr) {
        Free* block = list.first;
        list.first = block->next;
        free_block_(block);
      }
      list.count = 0;
    }
  }

 private:
  struct Free {
    Free* next;
  };
  struct List {
    Free* first = nullptr;
    size_t count = 0;
  };
  const FreeBlock free_block_;
  List lists_[kMaxUnits + 1];
};

}  // namespace ltn::accounting
