// Autocast: the ops' lower precision, which libtorch keeps per thread.
#pragma once

#include <ATen/ThreadLocalState.h>
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>

namespace ltn::async {

// The devices that torch.autocast knows.
constexpr std::array kAutocastDevices = {c10::DeviceType::CPU, c10::DeviceType::CUDA};

// The settings of a thread. at::ThreadLocalState also carries whether autocast is on, but not these.
struct AutocastModes {
  struct OfDevice {
    bool enabled;
    c10::ScalarType dtype;
  };
  std::array<OfDevice, kAutocastDevices.size()> devices;
  bool caches;  // whether weights are cast once per region

  static AutocastModes now() noexcept;
  // Throws for a dtype that libtorch does not cast to on the device.
  void set() const;
  bool any() const noexcept;
};

// What decides how an op that is called now runs, besides its arguments: two calls with equal modes are alike.
struct CallModes {
  AutocastModes autocast;
  bool gradients, inference;
  uint64_t included, excluded;  // dispatch keys
  c10::ScalarType default_dtype;

  static CallModes now();
  bool operator==(const CallModes& other) const noexcept;
};

// The thread-local state of the thread that makes it, for ops that run later, on any thread. To copy it takes as long
// as a small op, so the ops of a strand share one for as long as they are called in equal modes: nothing else of the
// state that an op depends on differs between two calls from JavaScript.
struct ThreadModes {
  explicit ThreadModes(const CallModes& modes) : modes(modes) {}
  const CallModes modes;
  const at::ThreadLocalState state;
};

// The dtype that autocast chooses for a device now.
c10::ScalarType autocast_dtype(c10::DeviceType device);
bool autocast_enabled(c10::DeviceType device);

// Whether ops on the CPU can be cast to float16, as torch.autocast of that release says.
extern const bool kAutocastHasHalf;

// Frees the casted weights. libtorch 1.13 has them per thread, later releases per process.
void clear_autocast_cache() noexcept;

// Lets ops of this thread use as many threads as those of another one; with OpenMP the setting is per thread.
void take_over_threads(int count);

// Sets modes for ops of another thread, and restores that thread's own afterwards. Does nothing if autocast is off.
class AutocastGuard {
 public:
  explicit AutocastGuard(const AutocastModes& modes);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  const bool changes_;
  AutocastModes before_{};
};

// Runs ops in modes of another thread, and restores that thread's own afterwards.
class ModesGuard {
 public:
  explicit ModesGuard(const ThreadModes& modes) : state_(modes.state), autocast_(modes.modes.autocast) {}

 private:
  const at::ThreadLocalStateGuard state_;
  const AutocastGuard autocast_;
};

}  // namespace ltn::async
