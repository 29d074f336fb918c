#include "native/audit/capture_place.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#if !defined(__APPLE__)
#include <sys/syscall.h>
#endif

#include <cerrno>

#include "native/audit/random_name.h"

namespace ltn::audit {

namespace {

#if defined(__APPLE__)
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

int exchange(int folder, const char* a, const char* b) noexcept {
  return ::renameatx_np(folder, a, folder, b, RENAME_SWAP);
}
#else
// O_PATH: a writable directory need not be readable.
constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;
// From linux/fs.h, which conflicts with stdio.h on some systems.
constexpr unsigned kExchange = 1u << 1;

int exchange(int folder, const char* a, const char* b) noexcept {
  return static_cast<int>(::syscall(SYS_renameat2, folder, a, folder, b, kExchange));
}
#endif

}  // namespace

bool CapturePlace::open(const std::string& path) {
  close();
  const size_t slash = path.rfind('/');
  name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name_.empty() || name_ == "." || name_ == "..") {
    errno = EISDIR;
    return false;
  }
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  folder_ = GuardedDescriptor(Descriptor(::open(folder.c_str(), kFolder)));
  return static_cast<bool>(folder_);
}

Descriptor CapturePlace::make_file() const noexcept {
  return Descriptor(::openat(folder_.get(), name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

Descriptor CapturePlace::open_file() const noexcept {
  struct stat found {};
  if (::fstatat(folder_.get(), name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return Descriptor();
  if (!S_ISREG(found.st_mode)) {  // opening a device may have side effects
    errno = EEXIST;
    return Descriptor();
  }
  // O_NONBLOCK: a pipe or a terminal that took the name since must not block.
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Descriptor file(::openat(folder_.get(), name_.c_str(), kFlags));
  if (file && (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode))) {
    file.reset();
    errno = EEXIST;
  }
  return file;
}

Descriptor CapturePlace::make_temporary(std::string* name) const {
  std::string random;
  if (!random_name(&random)) return Descriptor();
  *name = ".leak-audit-" + random;
  return Descriptor(::openat(folder_.get(), name->c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

bool CapturePlace::replace(int before, int now, const std::string& temporary) const noexcept {
  if (!holds(before) || !names(temporary, now)) {
    errno = ESTALE;
    return false;
  }
  const int folder = folder_.get();
  if (exchange(folder, temporary.c_str(), name_.c_str()) == 0) {
    // Checked after the exchange, which leaves no time in between: the removed file must be the capture.
    if (holds(now) && names(temporary, before)) {
      remove_temporary(temporary, before);
      return true;
    }
    static_cast<void>(exchange(folder, temporary.c_str(), name_.c_str()));
    errno = ESTALE;
    return false;
  }
  // File systems without RENAME_EXCHANGE: the check above comes right before the rename.
  if (errno != EINVAL && errno != ENOSYS && errno != EPERM) return false;
  return ::renameat(folder, temporary.c_str(), folder, name_.c_str()) == 0;
}

void CapturePlace::remove_temporary(const std::string& name, int fd) const noexcept {
  if (names(name, fd)) ::unlinkat(folder_.get(), name.c_str(), 0);
}

bool CapturePlace::names(const std::string& name, int fd) const noexcept {
  struct stat named {};
  struct stat opened {};
  return folder_ && ::fstatat(folder_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

}  // namespace ltn::audit
