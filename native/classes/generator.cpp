#include "native/classes/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <mutex>

namespace ltn {

at::Generator generator_new(c10::optional<c10::Device> device) {
  const c10::Device where = device.value_or(c10::Device(c10::DeviceType::CPU));
  if (where.is_cpu()) return at::detail::createCPUGenerator();
  // Other devices: a generator with the state of the default one, as returned by torch.Generator(device=…).
  at::Generator made = at::globalContext().defaultGenerator(where).clone();
  made.set_current_seed(c10::detail::getNonDeterministicRandom());
  return made;
}

void generator_manual_seed(at::Generator self, int64_t seed) {
  const std::lock_guard<std::mutex> lock(self.mutex());
  self.set_current_seed(static_cast<uint64_t>(seed));
}

int64_t generator_seed(at::Generator self) {
  const std::lock_guard<std::mutex> lock(self.mutex());
  return static_cast<int64_t>(self.seed());
}

int64_t generator_initial_seed(at::Generator self) { return static_cast<int64_t>(self.current_seed()); }

at::Tensor generator_get_state(at::Generator self) {
  const std::lock_guard<std::mutex> lock(self.mutex());
  return self.get_state();
}

void generator_set_state(at::Generator self, at::Tensor state) {
  const std::lock_guard<std::mutex> lock(self.mutex());
  self.set_state(state);
}

std::string generator_device(at::Generator self) { return self.device().str(); }

}  // namespace ltn
