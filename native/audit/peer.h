// Who connects to a process: told by the kernel, and judged.
//
// Abstract addresses belong to a network namespace, which containers may share, and know no permissions. So a peer is
// answered only where it is this user, and where it lives in the same pid, mount and user namespaces: a container of
// the same user number is another machine as far as secrets go.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_PEER_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_PEER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace ltn::audit {

// As the links in /proc/PID/ns say, "pid:[4026531836]"; empty where the kernel has no such thing.
struct Namespaces {
  std::string pid, mount, user;
  bool operator==(const Namespaces& other) const noexcept {
    return pid == other.pid && mount == other.mount && user == other.user;
  }
};

enum class Verdict {
  Ours,
  OtherUser,
  Unmapped,        // it has the number of all users that our user namespace does not know
  Unknown,         // its namespaces cannot be read
  OtherNamespace,  // of processes, of mounts or of users
};

// What is known of a peer, and of us.
struct PeerFacts {
  uid_t uid = 0, own_uid = 0;
  uid_t overflow_uid = 65534;  // /proc/sys/kernel/overflowuid
  std::string uid_map;         // /proc/self/uid_map; empty in a namespace that knows nobody
  bool any_namespace = false;  // LIBTORCH_NODE_ATTACH=all-namespaces
  bool is_visible = false;     // it has a number in our pid namespace
  bool is_known = false;       // the namespaces below are its own, and ours
  Namespaces peer, own;
};

Verdict judge(const PeerFacts& facts) noexcept;

// For people; "" where there is nothing to say.
const char* refusal_of(Verdict verdict) noexcept;

// Whether the map gives each user of the machine its own number.
bool is_identity(const std::string& uid_map) noexcept;

// The peer of a connected socket. `pid` is its number here, 0 where it has none.
Verdict verdict_on_peer(int socket, bool any_namespace, pid_t* pid);

// How often strangers are refused. Refusals beyond a number per second close the door for a moment: then what waits is
// let in together, so that a flood costs little, and the owner comes in with the others. One thread.
class Gate {
 public:
  // One was refused. True: it may be told why; false: there are too many, and the door is to be closed.
  bool refused(int64_t now_ms) noexcept;
  // Not before this time is the door looked at again.
  void close_until(int64_t ms) noexcept { closed_until_ = ms; }
  int64_t closed_until() const noexcept { return closed_until_; }
  bool is_open(int64_t now_ms) const noexcept { return now_ms >= closed_until_; }

 private:
  static constexpr int64_t kMost = 32;    // refusals at once
  static constexpr int64_t kEachMs = 50;  // one more after so long
  int64_t left_ = kMost;
  int64_t counted_ms_ = 0;
  int64_t closed_until_ = 0;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_PEER_H_
