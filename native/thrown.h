// What JavaScript threw that was called in the middle of an op.
#pragma once

#include <node_api.h>

#include <exception>

namespace ltn {

// What code of the program threw: it leaves the op as it is.
// Lifetime of the value: the handle scope of the outermost native call, which the exception does not leave.
class ThrownByProgram : public std::exception {
 public:
  explicit ThrownByProgram(napi_value value) : value_(value) {}
  napi_value value() const noexcept { return value_; }
  const char* what() const noexcept override { return "code of the program threw"; }

 private:
  napi_value value_;
};

// For after a call into JavaScript that failed, its exception taken. When the thread is being ended, that exception was
// V8's order to end, which counts as obeyed where it is caught: the order is given anew, or a program that catches
// errors in a loop would never end.
void renew_termination(napi_env env) noexcept;

}  // namespace ltn
