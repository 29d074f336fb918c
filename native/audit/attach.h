// The socket through which `leak-audit attach` and the other attaching commands reach a running process.
//
// It listens on an abstract address, "libtorch-node/<pid namespace>/<pid>/<random>", from the moment the library is
// loaded. It needs no directory (which may be missing, read-only or another user's) and leaves nothing behind when the
// process is killed. The random part prevents others from taking the name first; leak-audit finds it among the
// process's own descriptors. Abstract addresses have no permissions, so the credentials of each connection are checked
// (native/audit/peer.h). A separate thread sleeps in poll(2): it costs nothing while idle, and a process with a blocked
// event loop can be inspected too.
//
// On systems other than Linux nothing listens.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_H_

#include <string>
#include <string_view>

#include "native/audit/requests.h"

namespace ltn::audit {

// Whether the process listens, from LIBTORCH_NODE_ATTACH.
enum class AttachRule {
  Off,                 // 0: never, whatever threads set later
  NotThisEnvironment,  // 0 in a worker's own environment: this worker does not start the thread; others may
  Listen,              // to this user in the same namespaces
  AllNamespaces,       // to this user wherever it is
};

// `process` is the variable in the environment of the process, `own` the one in the environment of the thread that
// loads the library. They differ in a worker with its own environment, whose value applies to that worker only. "" if
// unset.
AttachRule attach_rule(std::string_view process, std::string_view own, bool is_main_thread) noexcept;

// Called by each environment that loads the library. The first one that starts or forbids listening decides for the
// process. Returns the reason once if listening fails, otherwise "". The thread lives as long as the process.
std::string listen_to_leak_audit(const Sources& sources, std::string_view own, bool is_main_thread);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_H_
