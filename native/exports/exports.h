// Native functions that are not ops, called by lib/ by name. They share the ops' error guard and converters.
#pragma once

#include <vector>

#include "native/audit/requests.h"
#include "native/ops/invoke.h"

namespace ltn {

// A function with its name in the `native` object of lib/addon/native.ts.
struct Internal {
  const char* name;
  OpRow row;
};

// For functions on libtorch's types: the ops' invoker converts.
template <class Signature>
constexpr Internal internal(const char* name, const char* schema, Signature* function) {
  return {name, {name, schema, &Invoker<Signature>::call, reinterpret_cast<AnyFunction>(function), 0}};
}

// For functions that handle JS values themselves.
template <Body body, size_t count>
napi_value call_body(napi_env env, napi_callback_info info) {
  napi_value arguments[count == 0 ? 1 : count];
  return run_guarded(env, info, arguments, count, body);
}
template <Body body, size_t count>
constexpr Internal internal_body(const char* name, const char* schema) {
  return {name, {name, schema, &call_body<body, count>, nullptr, 0}};
}

struct InternalList {
  const Internal* begin;
  size_t count;
};

// One list per subject; addon.cpp exports them all.
InternalList handle_internals();
InternalList tensor_internals();
InternalList data_internals();
InternalList autograd_internals();
InternalList gradient_internals();
InternalList hook_internals();
InternalList function_internals();
InternalList anomaly_internals();
InternalList memory_internals();
InternalList library_internals();
InternalList share_internals();
InternalList cuda_internals();
InternalList watch_internals();
InternalList async_internals();
InternalList model_internals();

// `torch.memory().devices`. Any thread.
std::vector<audit::DeviceFigures> device_figures();

// The devices of libtorch's CUDA, 0 without it.
int64_t cuda_device_count();

}  // namespace ltn
