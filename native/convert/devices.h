// Checks that a device exists, before libtorch's dispatcher answers with a page about backends.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <exception>
#include <string>

namespace ltn {

// Argument `index` names a CUDA device that does not exist: ERR_TORCH_CUDA.
class NoCuda : public std::exception {
 public:
  NoCuda(size_t index, std::string message) : index_(index), message_(std::move(message)) {}
  size_t index() const noexcept { return index_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  size_t index_;
  std::string message_;
};

// Throws NoCuda or, for any other missing device, BadArgument.
void require_device(c10::Device device, size_t index);

}  // namespace ltn
