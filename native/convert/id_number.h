// An id that crosses as a number: of a tensor, a scope or a token.
#pragma once

#include <limits>

#include "native/convert/call.h"

namespace ltn {

// NaN for a value that is not a number. Raw Node-API: tensors are disposed and scopes entered as often as ops are
// called.
inline double id_number(Call& call, size_t index) {
  double number = 0;
  const napi_status status = napi_get_value_double(call.env, call.arguments[index], &number);
  return status == napi_ok ? number : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace ltn
