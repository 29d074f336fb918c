// A JavaScript function that libtorch's graph holds, and calls in the middle of a backward.
#pragma once

#include <ATen/core/Tensor.h>
#include <node_api.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "native/autograd/callback_queue.h"
#include "native/convert/call.h"

namespace ltn::autograd {

// The values passed to and from JavaScript during one call of a callback. Lifetime: a frame of the engine. Thread: the
// environment's JS thread.
class CallbackFrame {
 public:
  CallbackFrame(Call& call, napi_value function);
  CallbackFrame(const CallbackFrame&) = delete;
  CallbackFrame& operator=(const CallbackFrame&) = delete;

  // Adds a tensor argument, owned like every result; null for an undefined one.
  void push(const at::Tensor& tensor);
  void push_list(const std::vector<at::Tensor>& tensors);
  // Calls the function and returns its result. Throws ThrownByProgram.
  napi_value run();

  // The tensor of a returned handle; undefined for 0.
  at::Tensor tensor(napi_value handle);
  std::vector<at::Tensor> tensors(napi_value handles);
  std::string text(napi_value value);

 private:
  Call& call_;
  const napi_value function_;
  std::vector<napi_value> arguments_;
};

// Lifetime: that of its hook or node, which any thread may free; the reference to the function goes to the
// environment's ReleaseQueue, and is deleted with the environment. So the function's references live as long as the
// graph, or the leaf, of the hook. Thread: created on the environment's JS thread, and called there, or on a thread for
// whose backward that thread waits (CallbackQueue); a call on another is refused.
class Callback {
 public:
  Callback(Call& call, napi_value function);
  ~Callback();
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  // Calls `use(frame)` on the function's thread; `use` runs the frame. Throws CodedError if that thread does not wait
  // for this one.
  void call(const std::function<void(CallbackFrame&)>& use) const;
  // Whether a callback is in progress on the calling thread.
  static bool is_running_on_thread() noexcept;
  // Releases the function: call() does nothing afterwards.
  void drop() noexcept;

 private:
  // On the function's thread.
  void call_here(const std::function<void(CallbackFrame&)>& use) const;

  EnvState* const state_;  // used only on its thread, which outlives it
  const std::shared_ptr<CallbackQueue> queue_;
  const std::shared_ptr<ReleaseQueue> releases_;
  std::atomic<napi_ref> reference_{nullptr};  // null once dropped
};

}  // namespace ltn::autograd
