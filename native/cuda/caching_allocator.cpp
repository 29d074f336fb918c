// Compiled only if libtorch has CUDA. All differences between libtorch 1.13 and 2.x are in this file.
#include "native/cuda/caching_allocator.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "native/accounting/collection_threshold.h"

namespace ltn::cuda {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

std::atomic<FreeMemory> process_free_memory{nullptr};
std::array<accounting::CollectionThreshold, C10_COMPILE_TIME_MAX_GPUS> process_thresholds;
// Whether a thread is in its callback. The callback may free blocks of other devices, under their locks; with only one
// thread in it, no two threads can deadlock on each other's device.
std::atomic<bool> process_in_callback{false};

// libtorch 2.x: the allocator is an object that reports whether it was initialized.
template <class Allocator>
auto is_initialized(Allocator* object, int) -> decltype(object->initialized()) {
  return object->initialized();
}

// libtorch 1.13: the allocator is a set of functions, and those that need a device throw before initialization.
template <class Allocator>
bool is_initialized(Allocator*, long) {
  try {
    static_cast<void>(allocator::getDeviceStats(0));
    return true;
  } catch (const c10::Error&) {  // "Invalid device argument": there is no device yet, so not initialized
    return false;
  }
}

// The first element of a StatArray is the sum over pools (AGGREGATE), whose name differs by version.
template <class Stats>
DeviceMemory read(const Stats& stats) {
  const auto bytes = [](int64_t value) { return value < 0 ? 0 : static_cast<uint64_t>(value); };
  DeviceMemory memory;
  memory.allocated_bytes = bytes(stats.allocated_bytes[0].current);
  memory.reserved_bytes = bytes(stats.reserved_bytes[0].current);
  memory.peak_allocated_bytes = bytes(stats.allocated_bytes[0].peak);
  memory.peak_reserved_bytes = bytes(stats.reserved_bytes[0].peak);
  return memory;
}

// Resets process_in_callback at the end of a callback. Lifetime: the callback's frame. Thread: the allocating one.
class CallbackLock {
 public:
  CallbackLock() noexcept : taken_(!process_in_callback.exchange(true, std::memory_order_acquire)) {}
  ~CallbackLock() {
    if (taken_) process_in_callback.store(false, std::memory_order_release);
  }
  CallbackLock(const CallbackLock&) = delete;
  CallbackLock& operator=(const CallbackLock&) = delete;
  bool taken() const noexcept { return taken_; }

 private:
  const bool taken_;
};

// Lifetime: libtorch creates one per query and drops it. Thread: the allocating one, under the allocator's (recursive)
// lock of the current device.
class CollectGarbage final : public c10::FreeMemoryCallback {
 public:
  // Returns whether something was freed: then the allocator searches its cache again.
  bool Execute() override {
    const FreeMemory free_memory = process_free_memory.load(std::memory_order_acquire);
    if (free_memory == nullptr) return false;
    const int device = static_cast<int>(c10::cuda::current_device());
    if (device < 0 || device >= static_cast<int>(process_thresholds.size())) return false;
    accounting::CollectionThreshold& threshold = process_thresholds[static_cast<size_t>(device)];
    if (!threshold.due(device_memory(device).allocated_bytes)) return false;
    const CallbackLock callback_lock;
    if (!callback_lock.taken()) return false;
    const bool freed = free_memory(0);
    threshold.collected(device_memory(device).allocated_bytes);
    return freed;
  }
};

}  // namespace

bool has_caching_allocator() noexcept { return true; }

bool is_started() { return is_initialized(allocator::get(), 0); }

DeviceMemory device_memory(int device) {
  if (!is_started()) return {};
  return read(allocator::getDeviceStats(static_cast<c10::DeviceIndex>(device)));
}

void empty_cache() {
  if (is_started()) allocator::emptyCache();
}

void install_free_memory_callback(FreeMemory free_memory) {
  static std::once_flag process_once;
  std::call_once(process_once, [free_memory] {
    process_free_memory.store(free_memory, std::memory_order_release);
    // The registry ends the process on a duplicate name, so each copy of the addon has its own.
    c10::FreeCudaMemoryCallbacksRegistry()->Register(
        free_memory_callback_name(),
        []() -> std::unique_ptr<c10::FreeMemoryCallback> { return std::make_unique<CollectGarbage>(); });
  });
}

const char* free_memory_callback_name() noexcept {
  static const std::string name = "libtorch-node-" + std::to_string(reinterpret_cast<uintptr_t>(&process_free_memory));
  return name.c_str();
}

}  // namespace ltn::cuda
