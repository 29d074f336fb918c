// Flags of V8 that are set for a moment, too often for V8's parser, which takes 6 µs.
#pragma once

#include <atomic>
#include <cstdint>

namespace ltn {

// A flag that is on or off. All threads of the process share its value. Thread: any.
class V8Flag {
 public:
  // Finds where V8 stores the flag, by setting it both ways; afterwards it is as before. `on` and `off`: as on the
  // command line.
  V8Flag(const char* on, const char* off) noexcept;

  // Whether it was found: V8's own symbols are needed, which Node 20 and 22 have, and 24 and 26 do not.
  bool found() const noexcept { return value_ != nullptr; }

  // Returns what it was; false if it was not found.
  bool exchange(bool value) noexcept { return found() && value_->exchange(value, std::memory_order_relaxed) != 0; }

 private:
  std::atomic<uint8_t>* value_ = nullptr;
};

}  // namespace ltn
