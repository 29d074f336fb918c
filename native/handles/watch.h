// The data of torch.TensorLogger and LIBTORCH_NODE_DEBUG about the tensors of one environment: when and where each was
// created, and with LIBTORCH_NODE_DEBUG how and where it was freed. Numbers only: it keeps nothing alive.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "native/audit/sampler.h"

namespace ltn::handles {

// Lifetime: part of a slot table, from its first use. Thread: the environment's JS thread, finalizers included.
class Watch {
 public:
  // How a tensor was freed. The JS side announces its own reasons; without one it was the collector.
  enum class Cause : uint8_t { Collector, Dispose, DisposeAll, Scope };

  struct Birth {
    uint64_t handle = 0;
    double ms = 0;      // steady clock
    uint32_t site = 0;  // 0: not sampled, or its stack is not known yet
  };

  struct Death {
    uint32_t born_at = 0;
    uint32_t freed_at = 0;
    Cause cause = Cause::Collector;
  };

  static constexpr size_t kMaxDeaths = 10'000;
  static constexpr size_t kMaxSites = 10'000;

  explicit Watch(uint64_t seed) : sampler_(seed) {}

  // `on`: record births. `sample_bytes`: the mean distance between stacks, 0 for a stack of every tensor. `deaths`:
  // record frees as well.
  void configure(bool on, uint64_t sample_bytes, bool deaths);
  bool on() const noexcept { return on_; }
  bool deaths() const noexcept { return deaths_; }

  void born(uint64_t handle, uint32_t index, uint64_t bytes) noexcept;
  // The number of sampled tensors that wait for their stack.
  uint32_t waiting() const noexcept { return static_cast<uint32_t>(waiting_.size()); }
  void tag_waiting(uint32_t site) noexcept;
  // Null for a tensor from before the watch was on.
  const Birth* birth(uint64_t handle, uint32_t index) const noexcept;

  // A stack as JSON, defined once per environment. 0 when there are too many.
  uint32_t define_site(std::string json);
  const std::string& site(uint32_t id) const noexcept;  // "" if unknown

  // The reason for the following frees, until Collector is announced.
  void announce(Cause cause, uint32_t site) noexcept {
    cause_ = cause;
    cause_site_ = site;
  }
  void freed(uint64_t handle, uint32_t index) noexcept;
  // Null for a tensor that is alive, or that was freed before the watch was on or too long ago.
  const Death* death(uint64_t handle) const noexcept;

  static double now_ms() noexcept;

 private:
  bool on_ = false;
  bool deaths_ = false;
  uint64_t sample_bytes_ = 0;
  audit::Sampler sampler_;
  std::vector<Birth> births_;  // by slot index
  std::vector<uint32_t> waiting_;
  std::vector<std::string> sites_;  // site id - 1
  Cause cause_ = Cause::Collector;
  uint32_t cause_site_ = 0;
  std::unordered_map<uint64_t, Death> dead_;
  std::deque<uint64_t> order_;  // of dead_, oldest first
};

}  // namespace ltn::handles
