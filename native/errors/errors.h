// The failures of native functions as C++ exceptions.
#pragma once

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

}  // namespace ltn
