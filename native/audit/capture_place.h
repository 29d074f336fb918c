// Where a capture lies: its folder, held open, and its name there.
//
// A path is looked up once. Whoever swaps a folder of the path afterwards changes what the path names, and not where
// this writes: all later steps go through the descriptor, and a file is renamed or removed only while its name still
// stands for the file that is meant (device and inode).
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_PLACE_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_PLACE_H_

#include <string>

#include "native/audit/descriptor.h"

namespace ltn::audit {

// Belongs to a CaptureFile, and so to its thread. Functions set errno where they fail.
class CapturePlace {
 public:
  // Opens the folder of `path`.
  bool open(const std::string& path);
  void close() noexcept { folder_.reset(); }
  explicit operator bool() const noexcept { return static_cast<bool>(folder_); }

  // A new file of that name, for its owner alone. EEXIST where something has the name, a link too.
  Descriptor make_file() const noexcept;
  // The regular file that has the name. No link is followed, and nothing is waited for.
  Descriptor open_file() const noexcept;
  // Whether the name stands for this open file.
  bool holds(int fd) const noexcept { return names(name_, fd); }

  // A new file beside it, for its owner alone, with a name that nobody can know before.
  Descriptor make_beside(std::string* name) const;
  // Gives `now`, which is `beside`, the name of the capture, which is `before`. False, and nothing is changed, where
  // one of the names stands for something else.
  bool replace(int before, int now, const std::string& beside) const noexcept;
  // Removes it while the name stands for this file.
  void remove_beside(const std::string& name, int fd) const noexcept;

 private:
  bool names(const std::string& name, int fd) const noexcept;

  Descriptor folder_;
  std::string name_;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_CAPTURE_PLACE_H_
