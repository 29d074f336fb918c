// One call from JavaScript in progress, as far as its environment needs to know it.
#pragma once

#include <node_api.h>

#include <cstddef>

namespace ltn {

// The base of every Call (native/convert/call.h). Lifetime: the native stack frame of the call. Thread: the
// environment's JS thread.
struct CallFrame {
  const napi_env env;
  const napi_value* const arguments;
  const size_t count;
  const size_t given;      // arguments that JavaScript passed; wrappers omit trailing nulls
  CallFrame* const outer;  // the call whose argument conversion ran the JS that made this call
};

}  // namespace ltn
