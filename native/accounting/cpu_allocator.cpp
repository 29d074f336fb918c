#include "native/accounting/cpu_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "native/accounting/fence.h"
#include "native/accounting/thread_blocks.h"
#include "native/audit/pin.h"
#include "native/compat.h"

namespace ltn::accounting {
namespace {

std::atomic<uint64_t> process_allocated{0};
std::atomic<uint64_t> process_peak{0};
std::atomic<uint64_t> process_allocations{0};
std::atomic<uint64_t> process_limit{kNoLimit};
std::atomic<FreeMemory> process_free_memory{nullptr};
// The wrapped allocator. Written once, under process_once, before the counting allocator is published.
c10::Allocator* process_wrapped = nullptr;
std::once_flag process_once;

void free_block(void* block) { process_wrapped->raw_deallocate(block); }

bool fits(uint64_t now) noexcept { return now <= process_limit.load(std::memory_order_relaxed); }

uint64_t physical_bytes() noexcept {
  static const auto bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// More than a collection could ever free.
bool can_never_fit(uint64_t bytes) noexcept {
  return bytes > physical_bytes() || bytes > process_limit.load(std::memory_order_relaxed);
}

void call_free_memory(uint64_t bytes) {
  if (can_never_fit(bytes)) return;
  if (const FreeMemory free_memory = process_free_memory.load(std::memory_order_acquire)) free_memory(bytes);
}

// The last allocation failure of this thread: its kind and size.
enum class Failure { None, Limit, Exhausted };
thread_local Failure thread_failure = Failure::None;
thread_local uint64_t thread_failed_bytes = 0;

void note_failure(Failure failure, uint64_t bytes) noexcept {
  thread_failure = failure;
  thread_failed_bytes = bytes;
}

[[noreturn]] void fail_limit(uint64_t bytes) {
  note_failure(Failure::Limit, bytes);
  const uint64_t limit = process_limit.load(std::memory_order_relaxed);
  throw MemoryLimitError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                         "cannot allocate " + std::to_string(bytes) + " bytes: libtorch holds " +
                             std::to_string(process_allocated.load(std::memory_order_relaxed)) +
                             " bytes and the memory limit is " + std::to_string(limit) + " bytes");
}

// Adds the bytes to the total if it then fits. Never adds what is refused, not even for a moment: another thread would
// be refused, or collect, for bytes that no one has.
bool add_fitting(uint64_t bytes, uint64_t* total) noexcept {
  uint64_t before = process_allocated.load(std::memory_order_relaxed);
  do {
    *total = before + bytes;
    if (__builtin_expect(!fits(*total), 0)) return false;
  } while (!process_allocated.compare_exchange_weak(before, *total, std::memory_order_relaxed));
  return true;
}

// Charges the bytes; returns the total.
uint64_t charge(uint64_t bytes) {
  uint64_t total = 0;
  if (__builtin_expect(add_fitting(bytes, &total), 1)) return total;
  call_free_memory(bytes);
  if (add_fitting(bytes, &total)) return total;
  fail_limit(bytes);
}

void raise_peak(uint64_t now) noexcept {
  uint64_t peak = process_peak.load(std::memory_order_relaxed);
  while (now > peak && !process_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

[[noreturn]] void fail_exhausted(size_t bytes, const char* why) {
  note_failure(Failure::Exhausted, bytes);
  throw ExhaustedError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                       "cannot allocate " + std::to_string(bytes) + " bytes on cpu: " + why);
}

// Bytes charged for an allocation in progress.
class Charge {
 public:
  explicit Charge(uint64_t bytes) : bytes_(bytes), now_(charge(bytes)) {}
  ~Charge() {
    if (bytes_ != 0) process_allocated.fetch_sub(bytes_, std::memory_order_relaxed);
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  void keep() noexcept {
    bytes_ = 0;
    raise_peak(now_);
  }

 private:
  uint64_t bytes_;
  const uint64_t now_;
};

// A block not yet owned by a tensor.
class Block {
 public:
  explicit Block(void* block) noexcept : block_(block) {}
  ~Block() {
    if (block_ != nullptr) free_block(block_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  bool is_there() const noexcept { return block_ != nullptr; }
  void set(void* block) noexcept { block_ = block; }
  void* release() noexcept { return std::exchange(block_, nullptr); }

 private:
  void* block_;
};

void* new_block(size_t bytes) {
  const size_t all = block_bytes(bytes);
  try {
    return process_wrapped->raw_allocate(all);
  } catch (const c10::Error&) {
    call_free_memory(bytes);  // there may be memory after a collection
    release_blocks();
  }
  try {
    return process_wrapped->raw_allocate(all);
  } catch (const c10::Error& error) {
    // The wrapped allocator reports exhaustion as a plain error; callers must be able to distinguish it.
    fail_exhausted(bytes, error.what_without_backtrace());
  }
}

// Charged memory between pages that cannot be touched.
void* take_counted_fenced(size_t bytes) {
  void* data = nullptr;
  if constexpr (kFenced) {  // otherwise a build without optimization would refer to functions that it does not have
    Charge charge(bytes);
    data = take_fenced(bytes);
    if (data == nullptr) {
      call_free_memory(bytes);
      data = take_fenced(bytes);
    }
    if (data == nullptr) fail_exhausted(bytes, "mmap failed");
    charge.keep();
    process_allocations.fetch_add(1, std::memory_order_relaxed);
  }
  return data;
}

// The deleter of counted blocks. `data` is the tensor's pointer; the block is kept for the next tensor of this thread,
// or returned to the wrapped allocator.
void free_counted(void* data) {
  if (data == nullptr) return;
  if constexpr (kFenced) {
    process_allocated.fetch_sub(free_fenced(data), std::memory_order_relaxed);
    return;
  }
  auto* header = reinterpret_cast<Header*>(static_cast<char*>(data) - sizeof(Header));
  const uint64_t bytes = header->bytes;
  process_allocated.fetch_sub(bytes, std::memory_order_relaxed);
  keep_block(header, bytes, &free_block);
}

// Lifetime: static, never destroyed while libtorch may still free through it. Thread: any, like libtorch's own.
class CountingCpuAllocator final : public compat::Allocator<CountingCpuAllocator> {
 public:
  c10::DataPtr take(size_t bytes) const {
    if (bytes == 0) return {nullptr, nullptr, &free_counted, c10::Device(c10::DeviceType::CPU)};
    if (bytes > std::numeric_limits<int64_t>::max() - 2 * sizeof(Header)) fail_exhausted(bytes, "the size overflows");
    if constexpr (kFenced) {
      void* data = take_counted_fenced(bytes);
      return {data, data, &free_counted, c10::Device(c10::DeviceType::CPU)};
    }
    Block block(take_block(bytes));
    // More than the physical memory is allocated before it is charged: the totals are shared by all threads.
    if (bytes > physical_bytes() && fits(bytes)) block.set(new_block(bytes));
    Charge charge(bytes);
    if (!block.is_there()) block.set(new_block(bytes));
    charge.keep();
    process_allocations.fetch_add(1, std::memory_order_relaxed);
    void* data = new (block.release()) Header{bytes} + 1;
    return {data, data, &free_counted, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &free_counted; }
};

}  // namespace

void install_counting_cpu_allocator() {
  std::call_once(process_once, [] {
    static CountingCpuAllocator allocator;
    process_wrapped = c10::GetCPUAllocator();
    // A wrapped allocator without a raw interface cannot carry the header; then allocatedBytes stays 0.
    if (process_wrapped->raw_deleter() == nullptr) return;
    audit::pin_library();  // libtorch, and a counting allocator of another addon, keep the pointer
    c10::SetCPUAllocator(&allocator, 1);
  });
}

AllocatorTotals cpu_allocator_totals() noexcept {
  return {process_allocated.load(std::memory_order_relaxed), process_peak.load(std::memory_order_relaxed)};
}

uint64_t cpu_allocated_bytes() noexcept { return process_allocated.load(std::memory_order_relaxed); }

uint64_t cpu_kept_bytes() noexcept { return kept_bytes(); }

void release_cpu_blocks() noexcept { release_blocks(); }

uint64_t cpu_allocations() noexcept { return process_allocations.load(std::memory_order_relaxed); }

void clear_allocation_failure() noexcept { note_failure(Failure::None, 0); }

void rethrow_allocation_failure() {
  const Failure failure = thread_failure;
  if (failure == Failure::Limit) fail_limit(thread_failed_bytes);
  if (failure == Failure::Exhausted) fail_exhausted(thread_failed_bytes, "out of memory");
}

Deleter counted_deleter() noexcept { return &free_counted; }

void set_memory_limit(uint64_t bytes) noexcept { process_limit.store(bytes, std::memory_order_relaxed); }
uint64_t memory_limit() noexcept { return process_limit.load(std::memory_order_relaxed); }

void set_free_memory(FreeMemory free_memory) noexcept {
  process_free_memory.store(free_memory, std::memory_order_release);
}

}  // namespace ltn::accounting
