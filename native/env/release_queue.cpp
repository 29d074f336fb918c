#include "native/env/release_queue.h"

#include <new>

namespace ltn {

std::shared_ptr<ReleaseQueue> ReleaseQueue::create(napi_env env) {
  std::shared_ptr<ReleaseQueue> queue(new ReleaseQueue(env));  // private constructor: owned at once
  uv_loop_s* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok) return queue;
  auto wake = std::make_unique<uv_async_t>();
  const auto on_wake = [](uv_async_t* async) { static_cast<ReleaseQueue*>(async->data)->drain(); };
  if (uv_async_init(loop, wake.get(), on_wake) != 0) return queue;
  wake->data = queue.get();
  uv_unref(reinterpret_cast<uv_handle_t*>(wake.get()));  // never keeps the process alive
  queue->wake_ = wake.release();                         // close() passes it to libuv
  return queue;
}

napi_status ReleaseQueue::refer(napi_value value, napi_ref* reference) noexcept {
  drain();  // a loop that never yields to libuv would keep every value until its end
  napi_ref made = nullptr;
  const napi_status status = napi_create_reference(env_, value, 1, &made);
  if (status != napi_ok) return status;
  try {
    references_.insert(made);
  } catch (const std::bad_alloc&) {  // otherwise nothing would delete it
    napi_delete_reference(env_, made);
    return napi_generic_failure;
  }
  *reference = made;
  return napi_ok;
}

void ReleaseQueue::push(napi_ref reference) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return;
  waiting_.push_back(reference);
  if (wake_ != nullptr) uv_async_send(wake_);
}

void ReleaseQueue::drain() noexcept {
  std::vector<napi_ref> references;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    references.swap(waiting_);
  }
  for (napi_ref reference : references) {
    references_.erase(reference);
    napi_delete_reference(env_, reference);
  }
}

void ReleaseQueue::close() noexcept {
  drain();
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  for (napi_ref reference : references_) napi_delete_reference(env_, reference);
  references_.clear();
  waiting_.clear();  // pushed since drain(); deleted above
  if (wake_ == nullptr) return;
  uv_close(reinterpret_cast<uv_handle_t*>(wake_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_async_t*>(handle); });
  wake_ = nullptr;
}

}  // namespace ltn
