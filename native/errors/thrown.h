// Exceptions of JavaScript that was called in the middle of an op.
#pragma once

#include <node_api.h>

#include <exception>

namespace ltn {

// An exception of the program's code, passed through the op unchanged. Lifetime of the value: the handle scope of the
// outermost native call, which the exception does not leave.
class ThrownByProgram : public std::exception {
 public:
  explicit ThrownByProgram(napi_value value) : value_(value) {}
  napi_value value() const noexcept { return value_; }
  const char* what() const noexcept override { return "code of the program threw"; }

 private:
  napi_value value_;
};

// Called after a failed call into JavaScript, with its exception taken. If the thread is being terminated, that
// exception was V8's termination, which counts as handled once it is caught. So it is requested again, otherwise a
// program that catches errors in a loop would never end.
void renew_termination(napi_env env) noexcept;

}  // namespace ltn
