// JS references that C++ releases on any thread and only the JS thread may delete.
#pragma once

#include <node_api.h>
#include <uv.h>

#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

namespace ltn {

// Lifetime: shared by its environment and every borrowed buffer, so a buffer freed after the environment ended finds it
// closed and does nothing (the environment's end deleted the references). Thread: push() from any; the rest on the
// environment's JS thread.
class ReleaseQueue {
 public:
  static std::shared_ptr<ReleaseQueue> create(napi_env env);
  // A strong reference to a value, which push() or the environment's end deletes: Node deletes none by itself.
  napi_status refer(napi_value value, napi_ref* reference) noexcept;
  void push(napi_ref reference) noexcept;
  void drain() noexcept;
  void close() noexcept;

 private:
  explicit ReleaseQueue(napi_env env) : env_(env) {}

  napi_env env_;
  std::unordered_set<napi_ref> references_;  // JS thread only
  std::mutex mutex_;
  std::vector<napi_ref> waiting_;  // guarded by mutex_
  bool closed_ = false;            // guarded by mutex_
  uv_async_t* wake_ = nullptr;     // freed by libuv's close callback
};

}  // namespace ltn
