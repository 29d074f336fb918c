// The resource of an asynchronous context that does not keep the event loop alive.
#pragma once

#include <node_api.h>

namespace ltn::async {

// An object whose `hasRef()` is false, as that of Node's own handles without a reference. async_hooks shows the
// resource to tools, and Jest's --detectOpenHandles reports every resource without `hasRef` as an open handle.
inline napi_status passive_resource(napi_env env, napi_value* result) noexcept {
  const napi_callback has_ref = [](napi_env caller, napi_callback_info) noexcept {
    napi_value no = nullptr;
    static_cast<void>(napi_get_boolean(caller, false, &no));
    return no;
  };
  const napi_property_descriptor property = {"hasRef", nullptr, has_ref,      nullptr,
                                             nullptr,  nullptr, napi_default, nullptr};
  const napi_status status = napi_create_object(env, result);
  return status == napi_ok ? napi_define_properties(env, *result, 1, &property) : status;
}

}  // namespace ltn::async
