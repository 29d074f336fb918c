// CUDA's caching allocator: its memory, and its requests for collections. One interface over libtorch 1.13 (functions)
// and 2.x (an object), and over a build without CUDA.
//
// The source file is chosen when the addon is built (scripts/libtorch.mjs): caching_allocator.cpp if libtorch has CUDA
// and CUDA's headers exist, otherwise caching_allocator_none.cpp.
#pragma once

#include <cstdint>

namespace ltn::cuda {

struct DeviceMemory {
  uint64_t allocated_bytes = 0;  // allocated and not yet returned
  uint64_t reserved_bytes = 0;   // taken from the device, including cached free blocks
  uint64_t peak_allocated_bytes = 0;
  uint64_t peak_reserved_bytes = 0;
};

// Whether the allocator exists: false in a build without CUDA.
bool has_caching_allocator() noexcept;

// Whether it is initialized: libtorch does that with the first tensor on a CUDA device. Before, everything is 0. Any
// thread.
bool is_started();

// The memory of one device; `device` must be below the number of devices. Zeros before the allocator is initialized.
// Takes the device's allocator lock. Any thread.
DeviceMemory device_memory(int device);

// Returns the cached free blocks to the devices. Does nothing before the allocator is initialized. Any thread.
void empty_cache();

// Called by the allocator when its cache has no block that fits, before it takes more from the device: frees
// unreachable tensors and returns whether it freed anything. The requested size is not known: `bytes` is 0. It runs
// under the device's allocator lock, on the allocating thread, and may free tensors on that thread; it must not wait
// for another thread.
using FreeMemory = bool (*)(uint64_t bytes);

// Registers `free_memory` with libtorch (c10::FreeMemoryCallback). Process-wide; the first call counts. Any thread.
void install_free_memory_callback(FreeMemory free_memory);

// The name of the callback in libtorch's registry, or null in a build without CUDA. For tests.
const char* free_memory_callback_name() noexcept;

}  // namespace ltn::cuda
