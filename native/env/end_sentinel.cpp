#include "native/env/end_sentinel.h"

#include <memory>
#include <new>

#include "native/env/env_state.h"
#include "native/env/environment_end.h"

namespace ltn {

void EndSentinel::put(EnvState& state) noexcept {
  std::unique_ptr<EndSentinel> made(new (std::nothrow) EndSentinel);  // private constructor: owned at once
  if (made == nullptr) return;
  EndSentinel* const sentinel = made.get();
  napi_value buffer = nullptr;
  const napi_status status =
      napi_create_external_buffer(state.env(), 1, &sentinel->memory_, &EndSentinel::finalize, sentinel, &buffer);
  // Refused before anything was created.
  if (status == napi_no_external_buffers_allowed || status == napi_cannot_run_js || status == napi_pending_exception) {
    return;
  }
  // Owned by the finalizer, which Node calls even after a failure half way: then the sentinel must not be touched any
  // more.
  static_cast<void>(made.release());
  if (status != napi_ok) return;
  if (napi_create_reference(state.env(), buffer, 1, &sentinel->reference_) != napi_ok) return;  // garbage
  sentinel->state_ = &state;
  if (state.end_sentinel() != nullptr) state.end_sentinel()->retire();
  state.set_end_sentinel(sentinel);
}

void EndSentinel::retire() noexcept {
  if (state_ == nullptr) return;
  napi_delete_reference(state_->env(), reference_);
  state_->set_end_sentinel(nullptr);
  state_ = nullptr;
}

void EndSentinel::finalize(node_api_basic_env, void*, void* self) {
  const std::unique_ptr<EndSentinel> sentinel(static_cast<EndSentinel*>(self));
  if (sentinel->state_ == nullptr) return;
  // Node frees the buffer; the reference is left to its owner.
  napi_delete_reference(sentinel->state_->env(), sentinel->reference_);
  sentinel->state_->set_end_sentinel(nullptr);
  end_pool_work(*sentinel->state_);
}

}  // namespace ltn
