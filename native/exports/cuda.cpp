// torch.cuda: devices and their memory. Device queries go through libtorch's dispatch, so they need no CUDA headers;
// memory goes through native/cuda.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "native/cuda/caching_allocator.h"
#include "native/exports/exports.h"

namespace ltn {
namespace {

// Null if no library with CUDA is loaded.
const c10::impl::DeviceGuardImplInterface* devices() {
  constexpr auto kCuda = c10::DeviceType::CUDA;
  return c10::impl::hasDeviceGuardImpl(kCuda) ? c10::impl::getDeviceGuardImpl(kCuda) : nullptr;
}

bool cuda_has_allocator() { return cuda::has_caching_allocator(); }
bool cuda_is_linked() { return devices() != nullptr; }
int64_t cuda_current_device() { return devices()->getDevice().index(); }
void cuda_synchronize(int64_t device) {
  at::detail::getCUDAHooks().deviceSynchronize(static_cast<c10::DeviceIndex>(device));
}
void cuda_empty_cache() { cuda::empty_cache(); }

// [allocated, reserved, peak allocated, peak reserved] of one device.
std::vector<int64_t> cuda_memory(int64_t device) {
  const cuda::DeviceMemory memory = cuda::device_memory(static_cast<int>(device));
  return {static_cast<int64_t>(memory.allocated_bytes), static_cast<int64_t>(memory.reserved_bytes),
          static_cast<int64_t>(memory.peak_allocated_bytes), static_cast<int64_t>(memory.peak_reserved_bytes)};
}

// lib/cuda/index.ts checks the arguments: `device` is below the number of devices.
const Export kCudaExports[] = {
    exported("cudaHasAllocator", "cudaHasAllocator() -> bool", &cuda_has_allocator),
    exported("cudaIsLinked", "cudaIsLinked() -> bool", &cuda_is_linked),
    exported("cudaDeviceCount", "cudaDeviceCount() -> int", &cuda_device_count),
    exported("cudaCurrentDevice", "cudaCurrentDevice() -> int", &cuda_current_device),
    exported("cudaSynchronize", "cudaSynchronize(int device) -> ()", &cuda_synchronize),
    exported("cudaEmptyCache", "cudaEmptyCache() -> ()", &cuda_empty_cache),
    exported("cudaMemory", "cudaMemory(int device) -> int[]", &cuda_memory),
};

}  // namespace

int64_t cuda_device_count() { return devices() == nullptr ? 0 : devices()->deviceCount(); }

ExportList cuda_exports() { return {kCudaExports, std::size(kCudaExports)}; }

}  // namespace ltn
