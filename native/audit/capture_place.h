// Where a capture is: its directory, held open, and its name there.
//
// A path is resolved once. Replacing a directory of the path afterwards changes what the path names, but not where this
// writes: all later steps use the descriptor, and a file is renamed or removed only while its name still refers to the
// intended file (device and inode).
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_PLACE_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_PLACE_H_

#include <string>

#include "native/audit/descriptor.h"
#include "native/audit/guarded_descriptor.h"

namespace ltn::audit {

// Belongs to a CaptureFile, and so to its thread. Functions set errno on failure.
class CapturePlace {
 public:
  // Opens the directory of `path`.
  bool open(const std::string& path);
  void close() noexcept { folder_.reset(); }
  explicit operator bool() const noexcept { return folder_.is_intact(); }
  // Also if the program has closed the descriptor of the directory since.
  bool was_open() const noexcept { return static_cast<bool>(folder_); }

  // Creates a file of that name with mode 0600. EEXIST if the name exists, also as a link.
  Descriptor make_file() const noexcept;
  // Opens the regular file of that name. Does not follow links and does not block.
  Descriptor open_file() const noexcept;
  // Whether the name refers to this open file.
  bool holds(int fd) const noexcept { return names(name_, fd); }

  // Creates a file in the same directory with mode 0600 and an unpredictable name.
  Descriptor make_temporary(std::string* name) const;
  // Gives `now`, whose name is `temporary`, the name of the capture, which is `before`. False, with nothing changed, if
  // one of the names refers to another file.
  bool replace(int before, int now, const std::string& temporary) const noexcept;
  // Removes it if the name refers to this file.
  void remove_temporary(const std::string& name, int fd) const noexcept;

 private:
  bool names(const std::string& name, int fd) const noexcept;

  GuardedDescriptor folder_;
  std::string name_;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_PLACE_H_
