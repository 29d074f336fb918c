// What V8 is told about the bytes behind JS handles of one environment.
#pragma once

#include <atomic>
#include <cstdint>

namespace ltn::accounting {

// Collects changes and passes them on in lots, because one report costs as much as a small op.
// Lifetime: part of its environment. Thread: the environment's JS thread only, but add_from_elsewhere().
class ExternalMemory {
 public:
  using Report = void (*)(void* context, int64_t bytes);
  static constexpr int64_t kLot = 64 * 1024;  // bytes that may go unreported

  ExternalMemory(Report report, void* context) noexcept : report_(report), context_(context) {}
  ExternalMemory(const ExternalMemory&) = delete;
  ExternalMemory& operator=(const ExternalMemory&) = delete;

  void add(int64_t bytes) noexcept {
    debt_ += bytes;
    if (bytes > 0) charged_ += bytes;
  }

  // Bytes that another environment's act charges to (or takes from) this one; the next settle() or flush() takes them
  // up. Any thread, while this environment has a handle on the storage at hand.
  void add_from_elsewhere(int64_t bytes) noexcept { elsewhere_.fetch_add(bytes, std::memory_order_relaxed); }

  // Whether more than `bytes` were charged since the last time that this was so.
  bool charged_more_than(int64_t bytes) noexcept {
    if (charged_ <= bytes) return false;
    charged_ = 0;
    return true;
  }

  // Reports a refund at once when it is large. Safe during a collection: a smaller figure starts none.
  void settle_refund() noexcept {
    if (debt_ <= -kLot) flush();
  }

  // Reports when the debt has grown large. A larger figure may start a collection, which frees slots: call it only
  // where no reference into the slot table is held.
  void settle() noexcept {
    take_up();
    if (debt_ >= kLot || debt_ <= -kLot) flush();
  }

  void flush() noexcept {
    take_up();
    const int64_t bytes = debt_;
    if (bytes == 0) return;
    debt_ = 0;
    reported_ += bytes;
    report_(context_, bytes);
  }

  // What V8 believes this environment's handles hold.
  int64_t reported() const noexcept { return reported_; }

 private:
  void take_up() noexcept {
    if (__builtin_expect(elsewhere_.load(std::memory_order_relaxed) != 0, 0)) {
      debt_ += elsewhere_.exchange(0, std::memory_order_relaxed);
    }
  }

  Report report_;
  void* context_;
  int64_t debt_ = 0;
  int64_t reported_ = 0;
  int64_t charged_ = 0;  // refunds do not lower it
  std::atomic<int64_t> elsewhere_{0};
};

}  // namespace ltn::accounting
