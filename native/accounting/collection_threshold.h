// Whether an allocator that caches freed blocks should request a collection before it takes more memory from its
// device.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ltn::accounting {

// A collection costs milliseconds, so it waits until the bytes in use have grown by half since the last one, and by at
// least kMin: a program that only loads a large model is collected a few times; garbage is collected before it is half
// of the memory in use. Lifetime: one per device, static. Thread: any; two concurrent callers may both be asked to
// collect.
class CollectionThreshold {
 public:
  static constexpr uint64_t kMin = uint64_t{64} << 20;

  // `in_use`: bytes allocated and not yet returned.
  bool due(uint64_t in_use) const noexcept { return in_use >= next_.load(std::memory_order_relaxed); }

  // A collection ended with this amount in use.
  void collected(uint64_t in_use) noexcept {
    next_.store(in_use + std::max(kMin, in_use / 2), std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> next_{kMin};
};

}  // namespace ltn::accounting
