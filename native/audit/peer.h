// Checks the credentials of a process that connects.
//
// Abstract addresses belong to a network namespace, which containers may share, and have no permissions. So a peer gets
// an answer only if it has the same user and the same pid, mount and user namespaces: a container with the same user
// number counts as another machine, for secrets.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_PEER_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_PEER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace ltn::audit {

// From the links in /proc/PID/ns, "pid:[4026531836]"; empty if the kernel lacks that kind of namespace.
struct Namespaces {
  std::string pid, mount, user;
  bool operator==(const Namespaces& other) const noexcept {
    return pid == other.pid && mount == other.mount && user == other.user;
  }
};

enum class PeerStatus {
  Ours,
  OtherUser,
  Unmapped,        // it has the overflow uid, shared by all users unknown to our user namespace
  Unknown,         // its namespaces cannot be read
  OtherNamespace,  // pid, mount or user namespace
};

// Facts about a peer and about this process.
struct PeerFacts {
  uid_t uid = 0, own_uid = 0;
  uid_t overflow_uid = 65534;  // /proc/sys/kernel/overflowuid
  std::string uid_map;         // /proc/self/uid_map; empty in a namespace without a mapping
  bool any_namespace = false;  // LIBTORCH_NODE_ATTACH=all-namespaces
  bool is_visible = false;     // it has a pid in our pid namespace
  bool is_known = false;       // the namespaces below are valid
  Namespaces peer, own;
};

PeerStatus classify_peer(const PeerFacts& facts) noexcept;

// The message for the user; "" for Ours.
const char* refusal_text(PeerStatus status) noexcept;

// Whether the map is the identity on all users of the machine.
bool is_identity(const std::string& uid_map) noexcept;

// Classifies the peer of a connected socket. `pid` is set to its pid here, 0 if it has none.
PeerStatus peer_status(int socket, bool any_namespace, pid_t* pid);

// Rate limit for refused connections. Above the limit, accept pauses for a moment; then all pending connections are
// accepted together, so that a flood costs little and the owner gets in with the others. One thread.
class AcceptLimiter {
 public:
  // Counts a refusal. True: the peer may get the reason. False: too many, the caller pauses accept.
  bool allow_refusal(int64_t now_ms) noexcept;
  // No accept before this time.
  void pause_until(int64_t ms) noexcept { paused_until_ = ms; }
  int64_t paused_until() const noexcept { return paused_until_; }
  bool may_accept(int64_t now_ms) const noexcept { return now_ms >= paused_until_; }

 private:
  static constexpr int64_t kBurst = 32;     // refusals that are answered in a row
  static constexpr int64_t kRefillMs = 50;  // interval per further refusal
  int64_t left_ = kBurst;
  int64_t counted_ms_ = 0;
  int64_t paused_until_ = 0;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_PEER_H_
