// Huge pages for memory that is about to be filled from a file.
#pragma once

#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ltn {

// 2 MiB are a multiple of every ordinary page. Where huge pages are larger, as with ordinary ones of 64 KiB, the kernel
// uses those that fit.
constexpr size_t kHugePage = size_t{2} << 20;

#ifdef MADV_HUGEPAGE
// A huge page that is free costs a fifth of the ordinary ones in its place. If none is free, the kernel moves others'
// memory to make one, which costs ten times as much as ordinary ones. So each is timed, and after a dear one the next
// 128 MiB get ordinary pages.
class HugePages {
 public:
  // The whole huge page at `data` is about to be written. A failed madvise is not an error.
  static void prefer(char* data) {
    if (process_skipped.load(std::memory_order_relaxed) > 0) {
      process_skipped.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    const int64_t start = cpu_ns();
    if (madvise(data, kHugePage, MADV_HUGEPAGE) != 0) return;
    *static_cast<volatile char*>(data) = 0;  // the kernel provides the page now
    if (cpu_ns() - start > kDear) process_skipped.store(kPause, std::memory_order_relaxed);
  }

 private:
  static constexpr int64_t kDear = 700'000;  // nanoseconds; ordinary pages cost 300,000 to 600,000
  static constexpr int64_t kPause = 64;      // huge pages

  static int64_t cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  }

  // How many still get ordinary pages. Threads may count at once; the number is not exact then, and need not be.
  static inline std::atomic<int64_t> process_skipped{0};
};
#else
class HugePages {
 public:
  static void prefer(char*) {}
};
#endif

}  // namespace ltn
