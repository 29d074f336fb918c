// JavaScript's exceptions and values in Node-API.
#pragma once

#include <node_api.h>

#include <string>

#include "native/errors/errors.h"

namespace ltn {

// Takes the pending JS exception, if any.
napi_value take_pending(napi_env env) noexcept;

// Throws into JavaScript. Must be the last call of a native function.
void throw_error(napi_env env, napi_value error) noexcept;

// "a string", "an array", "2.5": for messages.
std::string describe_value(napi_env env, napi_value value);

// Throws PendingJsException or CodedError if a Node-API call failed.
void check(napi_env env, napi_status status);

}  // namespace ltn
