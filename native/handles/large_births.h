// Large new storages, which lib/metrics/allocations.ts announces on a diagnostics channel.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ltn::handles {

// Lifetime: per thread, until the thread ends. Thread: its own; nothing is shared.
class LargeBirths {
 public:
  static constexpr uint64_t kOff = UINT64_MAX;

  // Environment number and handle: a thread may run several environments in sequence.
  using Birth = std::pair<uint32_t, uint64_t>;

  static LargeBirths& of_thread();

  ~LargeBirths() { set_threshold(kOff); }
  LargeBirths(const LargeBirths&) = delete;
  LargeBirths& operator=(const LargeBirths&) = delete;

  // Starts listening for births (audit::listen); kOff stops it and drops what waits.
  void set_threshold(uint64_t bytes) noexcept;
  bool is_large(uint64_t bytes) const noexcept { return bytes >= threshold_ && threshold_ != kOff; }
  void born(uint32_t env, uint64_t handle) noexcept;
  // The number of births to announce.
  uint32_t waiting() const noexcept { return static_cast<uint32_t>(waiting_.size()); }
  // Takes the waiting handles of one environment; drops those of others.
  std::vector<uint64_t> take(uint32_t env);

 private:
  LargeBirths() = default;

  uint64_t threshold_ = kOff;
  std::vector<Birth> waiting_;
};

}  // namespace ltn::handles
