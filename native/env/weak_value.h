// JavaScript's values, referred to without keeping them.
#pragma once

#include <node_api.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "native/env/release_queue.h"
#include "native/errors/js_errors.h"

namespace ltn {

// JavaScript's own WeakRef keeps its target until the running job ends: in a loop that never yields, until the
// program's end. This does not. Lifetime: owns its napi_ref. The destructor may run in a collection, where no reference
// may be deleted, so it gives the reference to ReleaseQueue; once the environment's end has deleted it, that does
// nothing. Thread: the environment's JS thread.
class WeakValue {
 public:
  // `value`: an object or a function.
  WeakValue(napi_env env, std::shared_ptr<ReleaseQueue> releases, napi_value value) : releases_(std::move(releases)) {
    check(env, releases_->refer(value, &reference_));
    uint32_t count = 0;
    if (napi_reference_unref(env, reference_, &count) == napi_ok) return;  // the count is 0: a weak reference
    releases_->push(reference_);                                           // no destructor runs
    check(env, napi_generic_failure);
  }
  WeakValue(WeakValue&& other) noexcept
      : releases_(std::move(other.releases_)), reference_(std::exchange(other.reference_, nullptr)) {}
  WeakValue(const WeakValue&) = delete;
  WeakValue& operator=(const WeakValue&) = delete;
  ~WeakValue() {
    if (reference_ != nullptr) releases_->push(reference_);
  }

  // Null once the value was collected. The caller's handle scope keeps what it gets.
  napi_value get(napi_env env) const {
    napi_value value = nullptr;
    check(env, napi_get_reference_value(env, reference_, &value));
    return value;
  }

 private:
  std::shared_ptr<ReleaseQueue> releases_;
  napi_ref reference_ = nullptr;  // null once moved from
};

}  // namespace ltn
