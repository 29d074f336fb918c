// For a build without CUDA, or without CUDA's headers: there is no allocator.
#include "native/cuda/caching_allocator.h"

namespace ltn::cuda {

bool has_caching_allocator() noexcept { return false; }
bool is_started() { return false; }
DeviceMemory device_memory(int) { return {}; }
void empty_cache() {}
void install_free_memory_callback(FreeMemory) {}
const char* free_memory_callback_name() noexcept { return nullptr; }

}  // namespace ltn::cuda
