#include "native/handles/large_births.h"

#include <new>

#include "native/audit/audit.h"

namespace ltn::handles {

LargeBirths& LargeBirths::of_thread() {
  thread_local LargeBirths births;
  return births;
}

void LargeBirths::set_threshold(uint64_t bytes) noexcept {
  const bool was_on = threshold_ != kOff;
  const bool on = bytes != kOff;
  threshold_ = bytes;
  if (on != was_on) audit::listen(on);
  if (!on) waiting_.clear();
}

void LargeBirths::born(uint32_t env, uint64_t handle) noexcept {
  try {
    waiting_.emplace_back(env, handle);
  } catch (const std::bad_alloc&) {
    // The tensor exists: better unannounced than lost.
  }
}

std::vector<uint64_t> LargeBirths::take(uint32_t env) {
  std::vector<uint64_t> handles;
  for (const auto& [of, handle] : waiting_) {
    if (of == env) handles.push_back(handle);
  }
  waiting_.clear();
  return handles;
}

}  // namespace ltn::handles
