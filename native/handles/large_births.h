// New storages of many bytes, which lib/allocations.ts announces on a diagnostics channel.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ltn::handles {

// Lifetime: per thread, until the thread ends. Thread: its own, so nothing here is shared.
class LargeBirths {
 public:
  static constexpr uint64_t kOff = UINT64_MAX;

  // Environment number and handle: a thread may have run several environments one after the other.
  using Birth = std::pair<uint32_t, uint64_t>;

  static LargeBirths& of_thread();

  ~LargeBirths() { set_threshold(kOff); }
  LargeBirths(const LargeBirths&) = delete;
  LargeBirths& operator=(const LargeBirths&) = delete;

  // Births are looked at from now on (audit::listen), or with kOff no more, and what waits is forgotten.
  void set_threshold(uint64_t bytes) noexcept;
  bool is_large(uint64_t bytes) const noexcept { return bytes >= threshold_ && threshold_ != kOff; }
  void born(uint32_t env, uint64_t handle) noexcept;
  // How many wait to be announced.
  uint32_t waiting() const noexcept { return static_cast<uint32_t>(waiting_.size()); }
  // The handles of one environment that wait; afterwards nothing does.
  std::vector<uint64_t> take(uint32_t env);

 private:
  LargeBirths() = default;

  uint64_t threshold_ = kOff;
  std::vector<Birth> waiting_;
};

}  // namespace ltn::handles
