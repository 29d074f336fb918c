#include "native/audit/peer.h"

#if defined(__linux__)
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "native/audit/descriptor.h"

namespace ltn::audit {

namespace {

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5
#endif

// Reads a small file of /proc. False if it cannot be read.
bool read_small(const std::string& path, std::string* text) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  std::array<char, 4096> bytes{};
  text->clear();
  for (;;) {
    const ssize_t n = ::read(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) return true;
    text->append(bytes.data(), static_cast<size_t>(n));
    if (text->size() > size_t{64} * 1024) return false;
  }
}

// The target of a link; "" with errno set on failure.
std::string link_text(const std::string& path) {
  std::array<char, 128> text{};
  const ssize_t n = ::readlink(path.c_str(), text.data(), text.size());
  return n <= 0 ? std::string() : std::string(text.data(), static_cast<size_t>(n));
}

// False if one exists and cannot be read.
bool read_namespaces(const std::string& process, Namespaces* all) {
  const std::array<std::pair<const char*, std::string*>, 3> kinds{
      {{"pid", &all->pid}, {"mnt", &all->mount}, {"user", &all->user}}};
  for (const auto& [kind, text] : kinds) {
    *text = link_text("/proc/" + process + "/ns/" + kind);
    if (text->empty() && errno != ENOENT) return false;
  }
  return true;
}

// /proc may belong to another pid namespace: then its pids mean other processes.
bool is_own_proc() { return link_text("/proc/self") == std::to_string(::getpid()); }

// Start time of the process, in ticks since boot; "" if it is gone.
std::string start_time(pid_t pid) {
  std::string stat;
  if (!read_small("/proc/" + std::to_string(pid) + "/stat", &stat)) return "";
  const size_t after_name = stat.rfind(')');  // the name may hold anything
  if (after_name == std::string::npos) return "";
  size_t at = after_name + 1;
  for (int field = 2; field < 22; ++field) {
    at = stat.find(' ', at);
    if (at == std::string::npos) return "";
    ++at;
  }
  return stat.substr(at, stat.find(' ', at) - at);
}

// Holds the peer's process by a pidfd, so that its pid is not reused meanwhile. Compares start times on older kernels.
class SameProcess {
 public:
  SameProcess(int socket, pid_t pid) : pid_(pid) {
    int fd = -1;
    socklen_t size = sizeof(fd);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0) {
      process_.reset(fd);
    } else if (errno == ENOPROTOOPT) {
      began_ = start_time(pid);
    }
  }
  // Whether it still lives, so that the pid was its own all the time.
  bool lives() const {
    if (!process_) return !began_.empty() && start_time(pid_) == began_;
    pollfd watched{process_.get(), POLLIN, 0};
    return ::poll(&watched, 1, 0) == 0;
  }

 private:
  const pid_t pid_;
  Descriptor process_;
  std::string began_;
};

uid_t overflow_uid() {
  std::string text;
  uid_t uid = 65534;
  if (read_small("/proc/sys/kernel/overflowuid", &text))
    static_cast<void>(std::from_chars(text.data(), text.data() + text.size(), uid));
  return uid;
}

}  // namespace

bool is_identity(const std::string& uid_map) noexcept {
  unsigned long long inside = 0, outside = 0, count = 0;
  return std::sscanf(uid_map.c_str(), "%llu %llu %llu", &inside, &outside, &count) == 3 && inside == 0 &&
         outside == 0 && count >= 4294967295ull;
}

PeerStatus classify_peer(const PeerFacts& facts) noexcept {
  if (facts.uid != facts.own_uid) return PeerStatus::OtherUser;
  if (facts.uid == facts.overflow_uid && !is_identity(facts.uid_map)) return PeerStatus::Unmapped;
  if (facts.any_namespace) return PeerStatus::Ours;
  if (!facts.is_visible) return PeerStatus::OtherNamespace;
  if (!facts.is_known) return PeerStatus::Unknown;
  return facts.peer == facts.own ? PeerStatus::Ours : PeerStatus::OtherNamespace;
}

const char* refusal_text(PeerStatus status) noexcept {
  switch (status) {
    case PeerStatus::Ours:
      return "";
    case PeerStatus::OtherUser:
      return "the process belongs to another user";
    case PeerStatus::Unmapped:
      return "the process runs as the user number that all users outside its user namespace share, so it cannot tell "
             "who asks";
    case PeerStatus::Unknown:
      return "the process cannot tell in which namespaces leak-audit runs: /proc does not show it";
    case PeerStatus::OtherNamespace:
      break;
  }
  return "leak-audit is in another pid, mount or user namespace: run it where the process runs (docker exec, nsenter), "
         "or start the process with LIBTORCH_NODE_ATTACH=all-namespaces";
}

PeerStatus peer_status(int socket, bool any_namespace, pid_t* pid) {
  PeerFacts facts;
  facts.any_namespace = any_namespace;
  facts.own_uid = ::geteuid();
  ucred who{};
  socklen_t size = sizeof(who);
  *pid = 0;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return PeerStatus::OtherUser;
  facts.uid = who.uid;
  if (facts.uid != facts.own_uid) return classify_peer(facts);  // other users cost no more than this
  *pid = who.pid;
  facts.overflow_uid = overflow_uid();
  if (!read_small("/proc/self/uid_map", &facts.uid_map) && errno == ENOENT && is_own_proc())
    facts.uid_map = "0 0 4294967295";  // a kernel without user namespaces
  facts.is_visible = who.pid > 0;
  if (facts.is_visible && !any_namespace && is_own_proc()) {
    const SameProcess process(socket, who.pid);
    facts.is_known =
        read_namespaces("self", &facts.own) && read_namespaces(std::to_string(who.pid), &facts.peer) && process.lives();
  }
  return classify_peer(facts);
}

bool AcceptLimiter::allow_refusal(int64_t now_ms) noexcept {
  const int64_t more = std::max<int64_t>(0, now_ms - counted_ms_) / kRefillMs;
  if (left_ + more >= kBurst) {
    left_ = kBurst;
    counted_ms_ = now_ms;
  } else {
    left_ += more;
    counted_ms_ += more * kRefillMs;
  }
  if (left_ == 0) return false;
  --left_;
  return true;
}

}  // namespace ltn::audit
#endif
