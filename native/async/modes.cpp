#include "native/async/modes.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

#include "native/compat.h"

namespace ltn::async {
namespace {

namespace autocast = at::autocast;

// Whether this thread had autocast on since its last clear. A flag and not a destructor: at the end of a thread
// libtorch's own destructors run before or after it.
thread_local bool thread_may_have_casts = false;

#ifdef LTN_HAS_AUTOCAST_BY_DEVICE
bool enabled_for(c10::DeviceType device) { return autocast::is_autocast_enabled(device); }
void enable_for(c10::DeviceType device, bool enabled) { autocast::set_autocast_enabled(device, enabled); }
c10::ScalarType dtype_for(c10::DeviceType device) { return autocast::get_autocast_dtype(device); }
void set_dtype_for(c10::DeviceType device, c10::ScalarType dtype) { autocast::set_autocast_dtype(device, dtype); }
#else
bool is_cpu(c10::DeviceType device) { return device == c10::DeviceType::CPU; }
bool enabled_for(c10::DeviceType device) {
  return is_cpu(device) ? autocast::is_cpu_enabled() : autocast::is_enabled();
}
void enable_for(c10::DeviceType device, bool enabled) {
  is_cpu(device) ? autocast::set_cpu_enabled(enabled) : autocast::set_enabled(enabled);
}
c10::ScalarType dtype_for(c10::DeviceType device) {
  return is_cpu(device) ? autocast::get_autocast_cpu_dtype() : autocast::get_autocast_gpu_dtype();
}
void set_dtype_for(c10::DeviceType device, c10::ScalarType dtype) {
  is_cpu(device) ? autocast::set_autocast_cpu_dtype(dtype) : autocast::set_autocast_gpu_dtype(dtype);
}
#endif

}  // namespace

AutocastModes AutocastModes::now() noexcept {
  AutocastModes modes{};
  for (size_t i = 0; i < kAutocastDevices.size(); ++i) {
    modes.devices[i] = {enabled_for(kAutocastDevices[i]), dtype_for(kAutocastDevices[i])};
  }
  modes.caches = autocast::is_autocast_cache_enabled();
  return modes;
}

void AutocastModes::set() const {
  for (size_t i = 0; i < kAutocastDevices.size(); ++i) {
    enable_for(kAutocastDevices[i], devices[i].enabled);
    set_dtype_for(kAutocastDevices[i], devices[i].dtype);
  }
  autocast::set_autocast_cache_enabled(caches);
  thread_may_have_casts |= any();
}

bool AutocastModes::any() const noexcept {
  return std::any_of(devices.begin(), devices.end(), [](const OfDevice& device) { return device.enabled; });
}

CallModes CallModes::now() {
  c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  return {AutocastModes::now(),      at::GradMode::is_enabled(), c10::InferenceMode::is_enabled(),
          keys.included_.raw_repr(), keys.excluded_.raw_repr(),  c10::typeMetaToScalarType(c10::get_default_dtype())};
}

bool CallModes::operator==(const CallModes& other) const noexcept {
  for (size_t i = 0; i < kAutocastDevices.size(); ++i) {
    const auto& mine = autocast.devices[i];
    const auto& theirs = other.autocast.devices[i];
    if (mine.enabled != theirs.enabled || mine.dtype != theirs.dtype) return false;
  }
  return autocast.caches == other.autocast.caches && gradients == other.gradients && inference == other.inference &&
         included == other.included && excluded == other.excluded && default_dtype == other.default_dtype;
}

c10::ScalarType autocast_dtype(c10::DeviceType device) { return dtype_for(device); }
bool autocast_enabled(c10::DeviceType device) { return enabled_for(device); }

#ifdef LTN_HAS_AUTOCAST_BY_DEVICE
const bool kAutocastHasHalf = true;
#else
const bool kAutocastHasHalf = false;
#endif

void clear_autocast_cache() noexcept {
  if (!thread_may_have_casts) return;
  thread_may_have_casts = false;
  autocast::clear_cache();
}

void take_over_threads(int count) {
  if (at::get_num_threads() != count) at::set_num_threads(count);
}

AutocastGuard::AutocastGuard(const AutocastModes& modes) : changes_(modes.any()) {
  if (!changes_) return;
  before_ = AutocastModes::now();
  modes.set();
}

AutocastGuard::~AutocastGuard() {
  if (changes_) before_.set();
}

}  // namespace ltn::async
