#include "native/audit/peer.h"

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

// A small file of /proc. False where it cannot be read.
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

// The text of a link; "" with errno.
std::string link_text(const std::string& path) {
  std::array<char, 128> text{};
  const ssize_t n = ::readlink(path.c_str(), text.data(), text.size());
  return n <= 0 ? std::string() : std::string(text.data(), static_cast<size_t>(n));
}

// False where one is there and cannot be read.
bool read_namespaces(const std::string& process, Namespaces* all) {
  const std::array<std::pair<const char*, std::string*>, 3> kinds{
      {{"pid", &all->pid}, {"mnt", &all->mount}, {"user", &all->user}}};
  for (const auto& [kind, text] : kinds) {
    *text = link_text("/proc/" + process + "/ns/" + kind);
    if (text->empty() && errno != ENOENT) return false;
  }
  return true;
}

// /proc may be that of another pid namespace: then its numbers are others' numbers.
bool is_own_proc() { return link_text("/proc/self") == std::to_string(::getpid()); }

// When the process began, in ticks since the machine's start; "" where it is gone.
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

// Holds the peer's process, so that its number is not another's meanwhile. By start times on a kernel without.
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
  // Whether it lives, and so had the number all the time.
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

Verdict judge(const PeerFacts& facts) noexcept {
  if (facts.uid != facts.own_uid) return Verdict::OtherUser;
  if (facts.uid == facts.overflow_uid && !is_identity(facts.uid_map)) return Verdict::Unmapped;
  if (facts.any_namespace) return Verdict::Ours;
  if (!facts.is_visible) return Verdict::OtherNamespace;
  if (!facts.is_known) return Verdict::Unknown;
  return facts.peer == facts.own ? Verdict::Ours : Verdict::OtherNamespace;
}

const char* refusal_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::Ours:
      return "";
    case Verdict::OtherUser:
      return "the process belongs to another user";
    case Verdict::Unmapped:
      return "the process runs as the user number that all users outside its user namespace share, so it cannot tell "
             "who asks";
    case Verdict::Unknown:
      return "the process cannot tell in which namespaces leak-audit runs: /proc does not show it";
    case Verdict::OtherNamespace:
      break;
  }
  return "leak-audit is in another pid, mount or user namespace: run it where the process runs (docker exec, nsenter), "
         "or start the process with LIBTORCH_NODE_ATTACH=all-namespaces";
}

Verdict verdict_on_peer(int socket, bool any_namespace, pid_t* pid) {
  PeerFacts facts;
  facts.any_namespace = any_namespace;
  facts.own_uid = ::geteuid();
  ucred who{};
  socklen_t size = sizeof(who);
  *pid = 0;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return Verdict::OtherUser;
  facts.uid = who.uid;
  if (facts.uid != facts.own_uid) return judge(facts);  // strangers cost no more than this
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
  return judge(facts);
}

bool Gate::refused(int64_t now_ms) noexcept {
  const int64_t more = std::max<int64_t>(0, now_ms - counted_ms_) / kEachMs;
  if (left_ + more >= kMost) {
    left_ = kMost;
    counted_ms_ = now_ms;
  } else {
    left_ += more;
    counted_ms_ += more * kEachMs;
  }
  if (left_ == 0) return false;
  --left_;
  return true;
}

}  // namespace ltn::audit
