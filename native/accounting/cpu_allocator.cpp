#include "native/accounting/cpu_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>

namespace ltn::accounting {
namespace {

std::atomic<uint64_t> process_allocated{0};
std::atomic<uint64_t> process_peak{0};
// The allocator that was in force before ours. Written once, under process_once, before ours is published.
c10::Allocator* process_wrapped = nullptr;
std::once_flag process_once;

// A block starts with its size, so that the bytes refunded are exactly the bytes charged. 64 bytes keep the alignment
// that libtorch's kernels count on (gAlignment).
struct alignas(64) Header {
  uint64_t bytes;
};
static_assert(sizeof(Header) == 64);

void charge(uint64_t bytes) noexcept {
  const uint64_t now = process_allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t peak = process_peak.load(std::memory_order_relaxed);
  while (now > peak && !process_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

// The deleter of our blocks. `data` is what the tensor saw; the block behind it goes back to the wrapped allocator.
void free_counted(void* data) {
  if (data == nullptr) return;
  auto* header = reinterpret_cast<Header*>(static_cast<char*>(data) - sizeof(Header));
  process_allocated.fetch_sub(header->bytes, std::memory_order_relaxed);
  process_wrapped->raw_deallocate(header);
}

// Lifetime: static, never destroyed while libtorch may still free through it. Thread: any, as libtorch's own.
class CountingCpuAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) const override {
    if (bytes == 0) return {nullptr, nullptr, &free_counted, c10::Device(c10::DeviceType::CPU)};
    return allocate_counted(bytes);
  }

  // libtorch 1.13 declares allocate() const, later versions do not: the overload that does not override is unused.
  c10::DeleterFnPtr raw_deleter() const override { return &free_counted; }

 private:
  static c10::DataPtr allocate_counted(size_t bytes) {
    if (bytes > std::numeric_limits<size_t>::max() - sizeof(Header)) fail(bytes, "the size overflows");
    void* block = nullptr;
    try {
      block = process_wrapped->raw_allocate(bytes + sizeof(Header));
    } catch (const c10::Error& error) {
      // The wrapped allocator reports exhaustion as a plain error; callers must be able to tell it from others.
      fail(bytes, error.what_without_backtrace());
    }
    auto* header = new (block) Header{bytes};
    charge(bytes);
    void* data = header + 1;
    return {data, data, &free_counted, c10::Device(c10::DeviceType::CPU)};
  }

  [[noreturn]] static void fail(size_t bytes, const char* why) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "cannot allocate ", bytes, " bytes on cpu: ", why);
    throw std::bad_alloc();  // not reached: the check above always throws
  }
};

}  // namespace

void install_counting_cpu_allocator() {
  std::call_once(process_once, [] {
    static CountingCpuAllocator allocator;
    process_wrapped = c10::GetCPUAllocator();
    // A wrapped allocator without a raw interface cannot carry our header; then allocatedBytes stays 0.
    if (process_wrapped->raw_deleter() == nullptr) return;
    c10::SetCPUAllocator(&allocator, 1);
  });
}

AllocatorTotals cpu_allocator_totals() noexcept {
  return {process_allocated.load(std::memory_order_relaxed), process_peak.load(std::memory_order_relaxed)};
}

}  // namespace ltn::accounting
