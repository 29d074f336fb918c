// Flags of V8 that are set for a moment, where V8's parser must not set them: it takes 6 µs, and has V8 compute the
// hash of all flags anew, by which V8 refuses code caches.
#pragma once

#include <atomic>
#include <cstdint>

namespace ltn {

// A flag that is on or off. All threads of the process share its value. Thread: any.
class V8Flag {
 public:
  // Finds where V8 stores the flag, by setting it both ways; afterwards it is as before. `on` and `off`: as on the
  // command line. V8 ends the process if its flags are frozen (--freeze-flags-after-init).
  V8Flag(const char* on, const char* off) noexcept;

  // Whether it was found: V8's own symbols are needed, which Node 20 and 22 have, and 24 and 26 do not.
  bool found() const noexcept { return value_ != nullptr; }

  // Returns what it was; `value` if it was not found.
  bool exchange(bool value) noexcept {
    return found() ? value_->exchange(value ? 1 : 0, std::memory_order_relaxed) != 0 : value;
  }

 private:
  std::atomic<uint8_t>* value_ = nullptr;
};

// Sets a flag that was found, and has its earlier value again at the end of its life. Thread: any. Where two of them
// are alive in different threads, the first one's end may come during the second one's life; after both, the flag is as
// before.
class V8FlagFor {
 public:
  V8FlagFor(V8Flag& flag, bool value) noexcept : flag_(flag), value_(value), before_(flag.exchange(value)) {}
  ~V8FlagFor() {
    if (before_ != value_) flag_.exchange(before_);
  }
  V8FlagFor(const V8FlagFor&) = delete;
  V8FlagFor& operator=(const V8FlagFor&) = delete;

 private:
  V8Flag& flag_;
  const bool value_, before_;
};

// The flags that are set so. Thread: any; they are found at the first call, which must not be inside a collection.
struct V8Flags {
  // Whether a scavenge uses other threads, which are woken even for little.
  V8Flag parallel_scavenge{"--parallel-scavenge", "--no-parallel-scavenge"};
  // Whether V8 leaves out the line about a scavenge, which it formats even where nobody reads it.
  V8Flag no_line{"--trace-gc-ignore-scavenger", "--no-trace-gc-ignore-scavenger"};
  // Whether new contexts have a function gc().
  V8Flag expose_gc{"--expose-gc", "--no-expose-gc"};

  static V8Flags& found() noexcept;

 private:
  V8Flags() noexcept;
};

}  // namespace ltn
