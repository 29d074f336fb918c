// The distance between samples, adapted to a budget of cost: every storage at first, and later as many as the budget
// allows, up to the largest distance.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_SAMPLE_BUDGET_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_SAMPLE_BUDGET_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace ltn::audit {

// Thread-safe. A sample costs about 10 µs, mostly for its stack. So the budget is a small share of one processor, and a
// credit for the beginning, when a short run needs evidence. A change of the distance does not bias the estimates: it
// depends only on earlier storages, and each sample counts by the distance at its own time.
class SampleBudget {
 public:
  static constexpr double kPerSecond = 250;     // 0.25% of a processor
  static constexpr double kCredit = 20'000;     // 0.2 s in total,
  static constexpr double kCreditSeconds = 10;  // of which at most this part is spent per second

  // With `adapts` false, the distance is always `largest`.
  void begin(uint64_t largest, bool adapts, int64_t now_ms) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    largest_ = std::max<uint64_t>(largest, 1);
    adapts_ = adapts;
    since_ms_ = now_ms;
    credit_ = kCredit;
    made_ = made_before_ = 0;
    distance_ = adapts ? 1 : largest_;
    begin_period(kBurstSeconds);
  }

  uint64_t distance() const noexcept { return distance_.load(std::memory_order_relaxed); }
  // Storages so far, with those that were not drawn.
  uint64_t made() const noexcept { return made_.load(std::memory_order_relaxed); }

  void count() noexcept { made_.fetch_add(1, std::memory_order_relaxed); }

  // A storage of this size was drawn. In a burst, the distance increases before the round ends.
  void drawn(uint64_t bytes) noexcept {
    drawn_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    const uint64_t number = drawn_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number < limit_.load(std::memory_order_relaxed)) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!adapts_ || number < limit_) return;
    limit_ = number + std::max<uint64_t>(kLeast, limit_ / 2);
    distance_ = std::min(largest_, std::max(distance_ * kCoarser, drawn_bytes_ / number));
  }

  // A round ended: the distance decreases again if fewer were drawn than is affordable.
  void round(int64_t now_ms) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!adapts_ || now_ms <= since_ms_) return;
    const double seconds = static_cast<double>(now_ms - since_ms_) / 1000;
    const auto drawn = static_cast<double>(drawn_.load());
    const double allowed = per_second() * seconds;
    if (static_cast<double>(made_ - made_before_) <= allowed) {
      distance_ = 1;
    } else if (drawn < allowed / 2) {
      distance_ = std::max<uint64_t>(1, distance_ / (drawn < allowed / 8 ? 8 : 2));
    }
    credit_ = std::clamp(credit_ + kPerSecond * seconds - drawn, -kCredit, kCredit);
    since_ms_ = now_ms;
    made_before_ = made_;
    begin_period(seconds);
  }

 private:
  static constexpr uint64_t kCoarser = 4;
  static constexpr uint64_t kLeast = 4;
  static constexpr double kLeastPerSecond = 25;
  static constexpr double kBurstSeconds = 0.25;  // what is affordable in this time may be drawn at once

  // Below the budget while it is overdrawn.
  double per_second() const noexcept { return std::max(kLeastPerSecond, kPerSecond + credit_ / kCreditSeconds); }
  void begin_period(double seconds) noexcept {
    drawn_ = drawn_bytes_ = 0;
    limit_ = std::max<uint64_t>(kLeast, static_cast<uint64_t>(per_second() * std::max(seconds, kBurstSeconds)));
  }

  std::mutex mutex_;
  uint64_t largest_ = 1;
  bool adapts_ = false;
  int64_t since_ms_ = 0;
  double credit_ = 0;
  uint64_t made_before_ = 0;
  std::atomic<uint64_t> distance_{1}, made_{0};
  // Since the last round.
  std::atomic<uint64_t> drawn_{0}, drawn_bytes_{0}, limit_{0};
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_SAMPLE_BUDGET_H_
