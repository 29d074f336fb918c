// C++ objects owned by JavaScript: opaque values, passed back to the functions that need them.
#pragma once

#include <node_api.h>

#include <memory>
#include <utility>

#include "native/convert/call.h"
#include "native/errors/js_errors.h"

namespace ltn {

// A JavaScript value that owns a `T`. Lifetime of the `T`: the value's, whose finalizer runs on the JS thread.
template <class T>
napi_value owned_external(Call& call, T value) {
  auto owner = std::make_unique<T>(std::move(value));
  napi_value external = nullptr;
  const auto finalize = [](node_api_basic_env, void* data, void*) { delete static_cast<T*>(data); };
  check(call.env, napi_create_external(call.env, owner.get(), finalize, nullptr, &external));
  static_cast<void>(owner.release());  // owned by the finalizer
  return external;
}

// The `T` of such a value among the arguments. Only lib/ has these values, and it does not mix them up.
template <class T>
T& owned_by(Call& call, size_t index) {
  void* data = nullptr;
  check(call.env, napi_get_value_external(call.env, call.arguments[index], &data));
  return *static_cast<T*>(data);
}

}  // namespace ltn
