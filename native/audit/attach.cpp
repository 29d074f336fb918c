#include "native/audit/attach.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "native/audit/descriptor.h"
#include "native/audit/writer.h"

namespace ltn::audit {

namespace {

constexpr size_t kMostClients = 64;
// Who began no recording and says nothing for so long, or does not take its answer, is let go.
constexpr int64_t kPatienceMs = 120'000;

struct Client {
  uint64_t id = 0;
  Descriptor socket;
  pid_t pid = 0;
  std::string in, out;
  int64_t since_ms = 0;  // of its last act
  bool over = false;
};

// Lives as long as the process, on its thread.
class Server {
 public:
  Server(Descriptor socket, const Sources& sources) : socket_(std::move(socket)), desk_(sources) {}

  void run() noexcept {
    for (;;) {
      try {
        wait();
      } catch (...) {  // no memory: whoever asked may ask again
        for (Client& client : clients_) client.over = true;
      }
      drop();
    }
  }

 private:
  void wait() {
    std::vector<pollfd> watched{{socket_.get(), POLLIN, 0}};
    int64_t until = desk_.deadline();
    for (const Client& client : clients_) {
      watched.push_back({client.socket.get(), static_cast<short>(client.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      if (is_limited(client)) until = std::min(until, client.since_ms + kPatienceMs);
    }
    const int64_t left = until == INT64_MAX ? -1 : std::clamp<int64_t>(until - steady_ms(), 0, 60'000);
    const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(left));
    desk_.at_deadline();
    size_t i = 1;
    for (Client& client : clients_) {
      const short events = ready > 0 ? watched[i].revents : static_cast<short>(0);
      ++i;
      if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) take(client);
      if (is_limited(client) && steady_ms() >= client.since_ms + kPatienceMs) client.over = true;
    }
    if (const uint64_t id = desk_.ended()) {
      for (Client& client : clients_) {
        if (client.id == id) client.out += "{\"event\":\"ended\"}\n";
      }
    }
    for (Client& client : clients_) send(client);
    drop();
    if (ready > 0 && watched[0].revents != 0) accept_one();
  }

  bool is_limited(const Client& client) const noexcept { return !desk_.began(client.id) || !client.out.empty(); }

  void accept_one() {
    Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      // No descriptor is left, say: it stays ready, so that without a pause this would be a busy loop.
      if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) ::usleep(100'000);
      return;
    }
    std::list<Client> one(1);
    Client& client = one.front();
    client.socket = std::move(socket);
    client.id = ++clients_so_far_;
    client.since_ms = steady_ms();
    ucred who{};
    socklen_t size = sizeof(who);
    if (::getsockopt(client.socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.uid != ::geteuid()) {
      client.out = error_answer("the process belongs to another user") + "\n";
      send(client);
      return;
    }
    if (clients_.size() >= kMostClients) return;
    client.pid = who.pid;
    clients_.splice(clients_.end(), one);
  }

  void take(Client& client) {
    char bytes[4096];
    const ssize_t n = ::recv(client.socket.get(), bytes, sizeof(bytes), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      client.over = true;
      return;
    }
    client.since_ms = steady_ms();
    client.in.append(bytes, static_cast<size_t>(n));
    for (size_t end = client.in.find('\n'); end != std::string::npos; end = client.in.find('\n')) {
      client.out += desk_.answer(std::string_view(client.in).substr(0, end), client.id, client.pid) + "\n";
      client.in.erase(0, end + 1);
      if (client.out.size() > kMostUnread) client.over = true;  // it asks, and does not listen
      if (client.over) return;
    }
    if (client.in.size() > kMostRequestBytes) client.over = true;
  }

  void send(Client& client) {
    while (!client.out.empty()) {
      const ssize_t n = ::send(client.socket.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        client.over = true;
        return;
      }
      client.since_ms = steady_ms();
      client.out.erase(0, static_cast<size_t>(n));
    }
  }

  void drop() noexcept {
    for (const Client& client : clients_) {
      if (client.over) desk_.gone(client.id);
    }
    clients_.remove_if([](const Client& client) { return client.over; });
  }

  static constexpr size_t kMostUnread = size_t{16} << 20;

  const Descriptor socket_;
  Desk desk_;
  std::list<Client> clients_;
  uint64_t clients_so_far_ = 0;
};

void* serve(void* server) {
  pthread_setname_np(pthread_self(), "ltn-attach");
  static_cast<Server*>(server)->run();
  return nullptr;
}

// The thread runs code of this library: it must stay when the worker that loaded it ends.
void pin_library() noexcept {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&serve), &info) != 0 && info.dli_fname != nullptr) {
    static_cast<void>(::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
  }
}

bool begin(const Sources& sources, std::string* why_not) {
  const auto failed = [&](const char* what) {
    *why_not = std::string(what) + ": " + std::strerror(errno);
    return false;
  };
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed("no socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = socket_address();
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket.get(), 128) != 0)
    return failed("no address");
  auto server = std::make_unique<Server>(std::move(socket), sources);
  pin_library();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // It inherits the mask: no signal of the program may be delivered to it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  errno = pthread_create(&thread, &attributes, &serve, server.get());
  const bool runs = errno == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (!runs) return failed("no thread");
  static_cast<void>(server.release());  // the thread has it, as long as there is a process
  return true;
}

}  // namespace

std::string socket_address() {
  char link[64] = {};
  const ssize_t n = ::readlink("/proc/self/ns/pid", link, sizeof(link) - 1);  // pid:[4026531836]
  std::string space;
  for (ssize_t i = 0; i < n; ++i) {
    if (link[i] >= '0' && link[i] <= '9') space += link[i];
  }
  // Containers may share a network, and so these addresses, but not the numbers of their processes.
  std::string name = "libtorch-node/" + space + "/" + std::to_string(::getpid()) + "/";
  // To the full: some versions of libuv fill up an abstract address with zeros, others do not.
  name.resize(sizeof(sockaddr_un::sun_path) - 1, '.');
  return name;
}

bool listen_to_leak_audit(const Sources& sources, std::string* why_not) {
  static std::mutex process_once;
  static bool process_listens = false;
  const std::lock_guard<std::mutex> lock(process_once);
  process_listens = process_listens || begin(sources, why_not);
  return process_listens;
}

}  // namespace ltn::audit
