// The external memory of one environment's JS handles, as reported to V8.
#pragma once

#include <atomic>
#include <cstdint>

namespace ltn::accounting {

// Collects changes and reports them in batches, because one report costs as much as a small op. Lifetime: part of its
// environment. Thread: the environment's JS thread only, except add_from_other_thread().
class ExternalMemory {
 public:
  using Report = void (*)(void* context, int64_t bytes);
  static constexpr int64_t kBatchBytes = 64 * 1024;  // bytes that may go unreported

  ExternalMemory(Report report, void* context) noexcept : report_(report), context_(context) {}
  ExternalMemory(const ExternalMemory&) = delete;
  ExternalMemory& operator=(const ExternalMemory&) = delete;

  void add(int64_t bytes) noexcept {
    unreported_ += bytes;
    if (bytes > 0) charged_ += bytes;
  }

  // Bytes that another environment charges to (or takes from) this one; added by the next settle() or flush(). Any
  // thread, while this environment has a handle on the storage.
  void add_from_other_thread(int64_t bytes) noexcept {
    from_other_threads_.fetch_add(bytes, std::memory_order_relaxed);
  }

  // Whether more than `bytes` were charged since this last returned true.
  bool charged_more_than(int64_t bytes) noexcept {
    if (charged_ <= bytes) return false;
    charged_ = 0;
    return true;
  }

  // Reports a large refund at once. Safe during a collection: a smaller amount starts none.
  void settle_refund() noexcept {
    if (unreported_ <= -kBatchBytes) flush();
  }

  // Reports if the unreported amount is large. A larger amount may start a collection, which frees slots: call it only
  // while no reference into the slot table is held.
  void settle() noexcept {
    add_remote();
    if (unreported_ >= kBatchBytes || unreported_ <= -kBatchBytes) flush();
  }

  void flush() noexcept {
    add_remote();
    const int64_t bytes = unreported_;
    if (bytes == 0) return;
    unreported_ = 0;
    reported_ += bytes;
    report_(context_, bytes);
  }

  // The amount reported to V8 for this environment.
  int64_t reported() const noexcept { return reported_; }

 private:
  void add_remote() noexcept {
    if (__builtin_expect(from_other_threads_.load(std::memory_order_relaxed) != 0, 0)) {
      unreported_ += from_other_threads_.exchange(0, std::memory_order_relaxed);
    }
  }

  Report report_;
  void* context_;
  int64_t unreported_ = 0;
  int64_t reported_ = 0;
  int64_t charged_ = 0;  // refunds do not lower it
  std::atomic<int64_t> from_other_threads_{0};
};

}  // namespace ltn::accounting
