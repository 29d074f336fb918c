// An owned file descriptor.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_DESCRIPTOR_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace ltn::audit {

// Closes the descriptor when its scope is left.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  explicit operator bool() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }
  // The caller owns it from now on.
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    const int before = std::exchange(fd_, fd);
    if (before >= 0) ::close(before);
  }

 private:
  int fd_ = -1;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_DESCRIPTOR_H_
