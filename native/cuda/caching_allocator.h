// CUDA's caching allocator: what it holds, and how it comes to ask for garbage. One interface over libtorch 1.13
// (functions) and 2.x (an object), and over a build without CUDA.
//
// Which source stands behind it is decided when the addon is built (scripts/libtorch.mjs): caching_allocator.cpp where
// libtorch has CUDA and CUDA's headers are there, else caching_allocator_none.cpp.
#pragma once

#include <cstdint>

namespace ltn::cuda {

struct DeviceMemory {
  uint64_t allocated_bytes = 0;  // given out and not yet returned
  uint64_t reserved_bytes = 0;   // taken from the device, the cache of free blocks with it
  uint64_t peak_allocated_bytes = 0;
  uint64_t peak_reserved_bytes = 0;
};

// Whether the allocator can be reached at all: false in a build without CUDA.
bool has_caching_allocator() noexcept;

// Whether it has started: libtorch does that with the first tensor on a CUDA device. Everything is 0 before. Any
// thread.
bool is_started();

// What one device holds; `device` must be below the number of devices. Zeros before the allocator has started. Takes
// the device's allocator lock. Any thread.
DeviceMemory device_memory(int device);

// Gives the cached free blocks back to the devices. Does nothing before the allocator has started. Any thread.
void empty_cache();

// What the allocator calls when its cache has no block that fits, before it takes more from the device: frees what
// nothing reaches any more, and says whether it freed anything. How much is wanted is not known: `bytes` is 0. It runs
// under the device's allocator lock, on the thread that allocates, and may free tensors on that thread; it must not
// wait for another one.
using Relief = bool (*)(uint64_t bytes);

// Registers `relieve` with libtorch (c10::FreeMemoryCallback). Process-wide; the first call counts. Any thread.
void install_relief(Relief relieve);

// The name of the callback in libtorch's registry, or null in a build without CUDA. For tests.
const char* relief_name() noexcept;

}  // namespace ltn::cuda
