// An owned descriptor in a program whose other code may close it.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_GUARDED_DESCRIPTOR_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_GUARDED_DESCRIPTOR_H_

#include <sys/stat.h>

#include <utility>

#include "native/audit/descriptor.h"

namespace ltn::audit {

// A program that closes a descriptor twice, or all that it does not know, may close one of the library. The next file
// or socket that it opens then has the same number. So the number is used only while it is still of the same file
// (device and inode), and is not closed if it is not.
//
// Owner: the object; its destructor closes the descriptor. Thread: one at a time, as the CaptureFile that it is part
// of. Another thread of the program can still close the number between the check and its use.
class GuardedDescriptor {
 public:
  GuardedDescriptor() = default;
  explicit GuardedDescriptor(Descriptor file) noexcept : file_(std::move(file)) {
    if (file_ && ::fstat(file_.get(), &opened_) != 0) opened_ = {};
  }
  ~GuardedDescriptor() { reset(); }
  GuardedDescriptor(GuardedDescriptor&&) noexcept = default;
  GuardedDescriptor& operator=(GuardedDescriptor&& other) noexcept {
    if (this == &other) return *this;
    reset();
    file_ = std::move(other.file_);
    opened_ = other.opened_;
    return *this;
  }

  explicit operator bool() const noexcept { return static_cast<bool>(file_); }
  int get() const noexcept { return file_.get(); }
  // Whether the number still stands for the file.
  bool is_intact() const noexcept { return is_of(file_.get()); }
  // Whether this descriptor is of the same file.
  bool is_of(int fd) const noexcept {
    struct stat now {};
    return fd >= 0 && ::fstat(fd, &now) == 0 && now.st_dev == opened_.st_dev && now.st_ino == opened_.st_ino;
  }
  void reset() noexcept {
    if (file_ && !is_intact()) static_cast<void>(file_.release());
    file_.reset();
  }

 private:
  Descriptor file_;
  struct stat opened_ {};
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_GUARDED_DESCRIPTOR_H_
