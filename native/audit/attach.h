// Where `leak-audit attach` and its like reach a running process.
//
// A listening socket with an abstract address, "libtorch-node/<pid namespace>/<pid>": it is there from the moment the
// library is loaded, needs no folder that may be missing, read-only or another's, and leaves nothing behind when the
// process is killed. Abstract addresses know no permissions, so each connection is asked who it is (SO_PEERCRED), and
// refused unless it is the process's own user. A thread of its own sleeps in poll(2) until somebody comes: no cost, and
// a blocked event loop can be looked at too.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_H_

#include <string>

#include "native/audit/requests.h"

namespace ltn::audit {

// Begins to listen, once per process; false with the reason when it cannot. The thread goes with the process.
bool listen_to_leak_audit(const Sources& sources, std::string* why_not);

// The address, without its leading zero byte.
std::string socket_address();

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_H_
