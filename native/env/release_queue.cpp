#include "native/env/release_queue.h"

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
  for (napi_ref reference : references) napi_delete_reference(env_, reference);
}

void ReleaseQueue::close() noexcept {
  drain();
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  if (wake_ == nullptr) return;
  uv_close(reinterpret_cast<uv_handle_t*>(wake_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_async_t*>(handle); });
  wake_ = nullptr;
}

}  // namespace ltn
