#include "native/convert/devices.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <string>

#include "native/errors/errors.h"

namespace ltn {
namespace {

[[noreturn]] void refuse_cuda(bool linked, const std::string& got, size_t index) {
  throw NoCuda(index,
               got + (linked ? " is not available: libtorch has CUDA, but finds no device: check that `nvidia-smi` "
                               "lists one, and that CUDA_VISIBLE_DEVICES does not hide it"
                             : " is not available: this libtorch has no CUDA: unpack one that has, set LIBTORCH to its "
                               "folder and run `npx libtorch-node build`"));
}

}  // namespace

void require_device(c10::Device device, size_t index) {
  const c10::DeviceType type = device.type();
  if (type == c10::DeviceType::CPU || type == c10::DeviceType::Meta) return;
  const bool cuda = type == c10::DeviceType::CUDA;
  const std::string got = "'" + device.str() + "'";
  if (!c10::impl::hasDeviceGuardImpl(type)) {
    if (cuda) refuse_cuda(false, got, index);
    throw BadArgument(index, "a device that this libtorch has", got);
  }
  const auto count = static_cast<int64_t>(c10::impl::getDeviceGuardImpl(type)->deviceCount());
  if (cuda && count == 0) refuse_cuda(true, got, index);
  if (device.has_index() && device.index() >= count) {
    throw BadArgument(index, "one of the " + std::to_string(count) + " devices of that kind", got);
  }
}

}  // namespace ltn
