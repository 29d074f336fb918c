// The JS error for a failed call: each has a stable code, the op, and its inputs; none ends the process.
#pragma once

#include <node_api.h>

#include "native/convert/call.h"

namespace ltn {

// The JS error for the current C++ exception, or the already pending JS exception, which is taken. `call` provides the
// op and the arguments; it may be null. Call it only inside a catch block.
napi_value current_error(napi_env env, Call* call) noexcept;

}  // namespace ltn
