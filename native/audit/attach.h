// Where `leak-audit attach` and its like reach a running process.
//
// A listening socket with an abstract address, "libtorch-node/<pid namespace>/<pid>/<random>": it is there from the
// moment the library is loaded, needs no folder that may be missing, read-only or another's, and leaves nothing behind
// when the process is killed. Nobody can take the name before, since nobody knows it: leak-audit finds it among the
// process's own descriptors. Abstract addresses know no permissions, so each connection is asked who it is
// (native/audit/peer.h). A thread of its own sleeps in poll(2) until somebody comes: no cost, and a blocked event loop
// can be looked at too.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_H_

#include <string>
#include <string_view>

#include "native/audit/requests.h"

namespace ltn::audit {

// Whether the process listens, as LIBTORCH_NODE_ATTACH says.
enum class AttachRule {
  Off,            // 0: for good, whatever threads say later
  NotByThis,      // a worker's own environment says 0: it does not begin, and forbids nothing to others
  Listen,         // to this user in the same namespaces
  AllNamespaces,  // to this user wherever it is
};

// `process` is the variable in the environment of the process, `own` that of the thread that loads the library: they
// differ in a worker with an environment of its own, which counts for itself alone. "" where it is not set.
AttachRule attach_rule(std::string_view process, std::string_view own, bool is_main_thread) noexcept;

// Called by each environment that loads the library; what the first that begins or forbids it says holds for the
// process. Returns why it cannot listen where it should, once; else "". The thread goes with the process.
std::string listen_to_leak_audit(const Sources& sources, std::string_view own, bool is_main_thread);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_H_
