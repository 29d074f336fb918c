// C++ objects owned by JavaScript: opaque values, passed back to the functions that need them.
#pragma once

#include <napi.h>

#include <memory>
#include <utility>

#include "native/convert/call.h"
#include "native/errors/js_errors.h"

namespace ltn {

// A JavaScript value that owns a `T`. Lifetime of the `T`: the value's, whose finalizer runs on the JS thread.
template <class T>
napi_value owned_external(Call& call, T value) {
  auto owner = std::make_unique<T>(std::move(value));
  const auto external =
      Napi::External<T>::New(call.env, owner.get(), [](Napi::BasicEnv, T* data) { delete data; });  // a basic finalizer
  static_cast<void>(owner.release());  // owned by the finalizer
  return external;
}

// The `T` of such a value among the arguments. Only lib/ has these values, and it does not mix them up.
template <class T>
T& owned_by(Call& call, size_t index) {
  return *Napi::Value(call.env, call.arguments[index]).As<Napi::External<T>>().Data();
}

}  // namespace ltn
