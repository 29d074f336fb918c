#include "native/audit/attach.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "native/audit/attach_server.h"
#include "native/audit/pin.h"
#include "native/audit/random_name.h"

namespace ltn::audit {

namespace {

#if !defined(__linux__)
// Abstract addresses, namespaces and the credentials of peers are Linux's.
std::string begin(const Sources&, bool) { return ""; }
#else
void* serve(void* server) {
  pthread_setname_np(pthread_self(), "ltn-attach");
  static_cast<AttachServer*>(server)->run();
  return nullptr;
}

// "libtorch-node/<pid namespace>/<pid>/"
std::string own_prefix() {
  char link[64] = {};
  const ssize_t n = ::readlink("/proc/self/ns/pid", link, sizeof(link) - 1);  // pid:[4026531836]
  std::string space;
  for (ssize_t i = 0; i < n; ++i) {
    if (link[i] >= '0' && link[i] <= '9') space += link[i];
  }
  // Containers may share a network namespace, and so these addresses, but not a pid namespace.
  return "libtorch-node/" + space + "/" + std::to_string(::getpid()) + "/";
}

bool new_address(const std::string& prefix, sockaddr_un* address) {
  std::string random;
  if (!random_name(&random)) return false;
  std::string name = prefix + random + "/";
  // Padded to the full length: some versions of libuv pad an abstract address with zeros, others do not.
  name.resize(sizeof(sockaddr_un::sun_path) - 1, '.');
  *address = {};
  address->sun_family = AF_UNIX;
  std::memcpy(address->sun_path + 1, name.data(), name.size());
  return true;
}

ino_t inode_of(int fd) noexcept {
  struct stat found {};
  return ::fstat(fd, &found) == 0 ? found.st_ino : 0;
}

// Whether another copy of the library in this process listens. One is enough; the copy whose socket has the smaller
// inode stays. The name is sufficient proof, since only this process has descriptors here.
bool another_listens(int own, const std::string& prefix) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), &::closedir);
  if (!folder) return false;
  const ino_t own_inode = inode_of(own);
  while (const dirent* entry = ::readdir(folder.get())) {
    const int fd = std::atoi(entry->d_name);  // 0 for . and .., which is not one of these sockets
    sockaddr_un address{};
    socklen_t size = sizeof(address);
    int listens = 0;
    socklen_t int_size = sizeof(listens);
    if (fd == own || ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    const bool named = address.sun_family == AF_UNIX && size == sizeof(address) &&
                       std::memcmp(address.sun_path + 1, prefix.data(), prefix.size()) == 0;
    if (named && ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_size) == 0 && listens != 0 &&
        inode_of(fd) < own_inode)
      return true;
  }
  return false;
}

// Returns why it cannot listen; "" if it does, or if another copy does.
std::string begin(const Sources& sources, bool any_namespace) {
  const auto failed = [&](const char* what) { return std::string(what) + ": " + std::strerror(errno); };
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed("cannot create a socket");
  const std::string prefix = own_prefix();
  sockaddr_un address{};
  if (!new_address(prefix, &address) ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket.get(), kListenBacklog) != 0)
    return failed("cannot listen");
  if (another_listens(socket.get(), prefix)) return "";
  auto server = std::make_unique<AttachServer>(std::move(socket), sources, any_namespace);
  pin_library();  // the thread runs code of this library
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The thread inherits the mask: no signal of the program may be delivered to it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  errno = pthread_create(&thread, &attributes, &serve, server.get());
  const bool runs = errno == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (!runs) return failed("cannot start a thread");
  static_cast<void>(server.release());  // owned by the thread until the process ends
  return "";
}
#endif

}  // namespace

AttachRule attach_rule(std::string_view process, std::string_view own, bool is_main_thread) noexcept {
  constexpr std::string_view kOff = "0", kAll = "all-namespaces";
  if (process == kOff || (is_main_thread && own == kOff)) return AttachRule::Off;
  if (own == kOff) return AttachRule::NotThisEnvironment;
  if (process == kAll || (is_main_thread && own == kAll)) return AttachRule::AllNamespaces;
  return AttachRule::Listen;
}

std::string listen_to_leak_audit(const Sources& sources, std::string_view own, bool is_main_thread) {
  static std::mutex process_once;
  static bool process_decided = false;
  const std::lock_guard<std::mutex> lock(process_once);
  if (process_decided) return "";
  // The process's environment, not the thread's: a worker with its own environment must not enable what main disabled.
  const char* const process = ::getenv("LIBTORCH_NODE_ATTACH");
  const AttachRule rule = attach_rule(process == nullptr ? "" : process, own, is_main_thread);
  process_decided = rule != AttachRule::NotThisEnvironment;
  if (rule == AttachRule::Off || rule == AttachRule::NotThisEnvironment) return "";
  return begin(sources, rule == AttachRule::AllNamespaces);
}

}  // namespace ltn::audit
