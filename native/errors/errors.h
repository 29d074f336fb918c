// The failures of native functions as C++ exceptions, and JavaScript's exceptions in Node-API.
#pragma once

#include <node_api.h>

#include <cstdint>
#include <exception>
#include <string>

namespace ltn {

// An argument that cannot be converted to the op's type.
class BadArgument : public std::exception {
 public:
  BadArgument(size_t index, std::string expected, std::string got)
      : index_(index), expected_(std::move(expected)), got_(std::move(got)) {}
  size_t index() const noexcept { return index_; }
  const std::string& expected() const noexcept { return expected_; }
  const std::string& got() const noexcept { return got_; }
  const char* what() const noexcept override { return expected_.c_str(); }

 private:
  size_t index_;
  std::string expected_;
  std::string got_;
};

// A tensor that was disposed.
class DisposedTensor : public std::exception {
 public:
  DisposedTensor(size_t index, uint64_t handle) : index_(index), handle_(handle) {}
  size_t index() const noexcept { return index_; }
  uint64_t handle() const noexcept { return handle_; }
  const char* what() const noexcept override { return "the tensor was disposed"; }

 private:
  size_t index_;
  uint64_t handle_;
};

// The result of a recorded op that has not run.
class PendingTensor : public std::exception {
 public:
  explicit PendingTensor(size_t index) : index_(index) {}
  size_t index() const noexcept { return index_; }
  const char* what() const noexcept override { return "the result is not there yet"; }

 private:
  size_t index_;
};

// A JS exception is already pending (e.g. from a getter): leave it as it is.
class PendingJsException : public std::exception {};

// An error with one of the library's codes, if none of the above fits.
class CodedError : public std::exception {
 public:
  CodedError(const char* code, std::string message) : code_(code), message_(std::move(message)) {}
  const char* code() const noexcept { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  const char* code_;
  std::string message_;
};

// Takes the pending JS exception, if any.
napi_value take_pending(napi_env env) noexcept;

// Throws into JavaScript. Must be the last call of a native function.
void throw_error(napi_env env, napi_value error) noexcept;

// "a string", "an array", "2.5": for messages.
std::string describe_value(napi_env env, napi_value value);

// Throws PendingJsException or CodedError if a Node-API call failed.
void check(napi_env env, napi_status status);

}  // namespace ltn
