// Cache of blocks above 2 KiB that one thread freed, for its next tensors.
//
// A fresh block costs page faults, or misses the processor's caches; the one that was freed last is still in them. A
// scavenge frees the tensors of milliseconds at once, and malloc returns most of that to the system.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ltn::accounting {

// Lifetime: as BlockCache. Thread: its own. A block may have been allocated on another one.
class LargeBlocks {
 public:
  using FreeBlock = void (*)(void* block);
  static constexpr size_t kMinData = 2048;                     // exclusive: smaller ones are BlockCache's
  static constexpr size_t kMaxData = size_t{8} * 1024 * 1024;  // inclusive
  static constexpr size_t kMaxBytes = 2 * kMaxData;            // kept per thread

  static constexpr bool takes(size_t data) noexcept { return data > kMinData && data <= kMaxData; }

  // Sizes are rounded up to an eighth of a power of two, so that a program whose sizes vary reuses blocks too.
  struct SizeClass {
    size_t index;
    size_t capacity;  // bytes of data
  };
  static SizeClass class_of(size_t data) noexcept {
    const unsigned power = 63U - static_cast<unsigned>(__builtin_clzll(data - 1));
    const size_t eighths = ((data - 1) >> (power - 3)) + 1;  // 9 to 16
    return {(power - kMinPower) * 8 + eighths - 9, eighths << (power - 3)};
  }

  explicit LargeBlocks(FreeBlock free_block) noexcept : free_block_(free_block) {}
  ~LargeBlocks() { clear(); }
  LargeBlocks(const LargeBlocks&) = delete;
  LargeBlocks& operator=(const LargeBlocks&) = delete;

  // The block of the class that was freed last, or null.
  void* take(SizeClass size) noexcept {
    Free* block = lists_[size.index];
    if (block != nullptr) remove(block);
    return block;
  }

  // Keeps the block in place of the oldest ones.
  void keep(void* memory, SizeClass size) noexcept {
    while (bytes_ + size.capacity > kMaxBytes) {
      Free* oldest = oldest_;
      remove(oldest);
      free_block_(oldest);
    }
    auto* block = static_cast<Free*>(memory);
    *block = {lists_[size.index], nullptr, newest_, nullptr, size};
    if (block->next != nullptr) block->next->previous = block;
    lists_[size.index] = block;
    (newest_ == nullptr ? oldest_ : newest_->newer) = block;
    newest_ = block;
    bytes_ += size.capacity;
  }

  void clear() noexcept {
    while (oldest_ != nullptr) {
      Free* block = oldest_;
      remove(block);
      free_block_(block);
    }
  }

  size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr unsigned kMinPower = 11;  // of kMinData
  static constexpr size_t kClasses = 12 * 8;

  // In the block itself.
  struct Free {
    Free* next;  // of the class
    Free* previous;
    Free* older;  // of all
    Free* newer;
    SizeClass size;
  };

  void remove(Free* block) noexcept {
    (block->previous == nullptr ? lists_[block->size.index] : block->previous->next) = block->next;
    if (block->next != nullptr) block->next->previous = block->previous;
    (block->older == nullptr ? oldest_ : block->older->newer) = block->newer;
    (block->newer == nullptr ? newest_ : block->newer->older) = block->older;
    bytes_ -= block->size.capacity;
  }

  const FreeBlock free_block_;
  std::array<Free*, kClasses> lists_{};
  Free* oldest_ = nullptr;
  Free* newest_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace ltn::accounting
