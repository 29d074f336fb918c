#include "native/audit/attach_server.h"

#if defined(__linux__)
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "native/audit/writer.h"

namespace ltn::audit {

namespace {

constexpr size_t kMaxClients = 64;
// Idle limits of clients that started no recording, or do not read their answer: after a request, and before the first.
constexpr int64_t kIdleTimeoutMs = 120'000, kFirstRequestTimeoutMs = 10'000;
constexpr size_t kMaxUnread = size_t{16} << 20;
// Pauses of accept: while other users' connections flood it, and while the process is out of descriptors.
constexpr int64_t kFloodPauseMs = 50, kFullPauseMs = 100;

}  // namespace

AttachServer::AttachServer(Descriptor socket, const Sources& sources, bool any_namespace)
    : socket_(std::move(socket)), any_namespace_(any_namespace), handler_(sources) {}

void AttachServer::run() noexcept {
  for (;;) {
    try {
      wait();
    } catch (...) {  // out of memory: the client may ask again
      for (Client& client : clients_) client.finished = true;
    }
    drop();
  }
}

void AttachServer::wait() {
  const int64_t before = steady_ms();
  const bool accepts = accept_limiter_.may_accept(before);  // poll ignores a negative descriptor
  std::vector<pollfd> watched{{accepts ? socket_.get() : -1, POLLIN, 0}};
  int64_t until = handler_.deadline();
  if (!accepts) until = std::min(until, accept_limiter_.paused_until());
  for (const Client& client : clients_) {
    watched.push_back({client.socket.get(), static_cast<short>(client.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    until = std::min(until, idle_deadline(client));
  }
  const int64_t left = until == INT64_MAX ? -1 : std::clamp<int64_t>(until - before, 0, 60'000);
  const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(left));
  handler_.at_deadline();
  size_t i = 1;
  for (Client& client : clients_) {
    const short events = ready > 0 ? watched[i].revents : static_cast<short>(0);
    ++i;
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) receive(client);
    if (steady_ms() >= idle_deadline(client)) client.finished = true;
  }
  if (const uint64_t id = handler_.take_client_to_notify()) {
    for (Client& client : clients_) {
      if (client.id == id) client.out += "{\"event\":\"ended\"}\n";
    }
  }
  for (Client& client : clients_) send(client);
  drop();
  if (ready > 0 && watched[0].revents != 0) accept_all();
}

bool AttachServer::can_time_out(const Client& client) const noexcept {
  return !handler_.is_recording_of(client.id) || !client.out.empty();
}

int64_t AttachServer::idle_deadline(const Client& client) const noexcept {
  if (!can_time_out(client)) return INT64_MAX;
  return client.since_ms + (client.asked ? kIdleTimeoutMs : kFirstRequestTimeoutMs);
}

// Accepts all pending connections, so that others' connections cannot block the owner's: each is dropped after one
// check.
void AttachServer::accept_all() {
  for (int accepted = 0; accepted < kListenBacklog; ++accepted) {
    Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      accept_one(std::move(socket), steady_ms());
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    // E.g. out of descriptors: the socket stays readable, so without a pause this would be a busy loop.
    if (errno != EAGAIN) accept_limiter_.pause_until(steady_ms() + kFullPauseMs);
    return;
  }
}

void AttachServer::accept_one(Descriptor socket, int64_t now) {
  pid_t pid = 0;
  const PeerStatus status = peer_status(socket.get(), any_namespace_, &pid);
  if (status != PeerStatus::Ours) {
    if (!accept_limiter_.allow_refusal(now)) {
      accept_limiter_.pause_until(now + kFloodPauseMs);  // closed without an answer
      return;
    }
    Client refused;
    refused.socket = std::move(socket);
    refused.out = error_answer(refusal_text(status)) + "\n";
    send(refused);
    return;
  }
  if (clients_.size() >= kMaxClients) drop_idlest();
  std::list<Client> one(1);
  Client& client = one.front();
  client.socket = std::move(socket);
  client.id = ++clients_so_far_;
  client.since_ms = now;
  client.pid = pid;
  clients_.splice(clients_.end(), one);
}

// Drops the client that has been idle longest, so that many open connections cannot lock others out.
void AttachServer::drop_idlest() noexcept {
  Client* oldest = nullptr;
  for (Client& client : clients_) {
    if (can_time_out(client) && (oldest == nullptr || client.since_ms < oldest->since_ms)) oldest = &client;
  }
  if (oldest != nullptr) oldest->finished = true;
  drop();
}

void AttachServer::receive(Client& client) {
  char bytes[4096];
  const ssize_t n = ::recv(client.socket.get(), bytes, sizeof(bytes), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    client.finished = true;
    return;
  }
  client.in.append(bytes, static_cast<size_t>(n));
  for (size_t end = client.in.find('\n'); end != std::string::npos; end = client.in.find('\n')) {
    client.asked = true;
    client.since_ms = steady_ms();  // only complete requests count: sending single bytes does not extend the time
    client.out += handler_.answer(std::string_view(client.in).substr(0, end), client.id, client.pid) + "\n";
    client.in.erase(0, end + 1);
    if (client.out.size() > kMaxUnread) client.finished = true;  // it sends requests without reading the answers
    if (client.finished) return;
  }
  if (client.in.size() > kMaxRequestBytes) client.finished = true;
}

void AttachServer::send(Client& client) {
  while (!client.out.empty()) {
    const ssize_t n = ::send(client.socket.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      client.finished = true;
      return;
    }
    client.since_ms = steady_ms();
    client.out.erase(0, static_cast<size_t>(n));
  }
}

void AttachServer::drop() noexcept {
  for (const Client& client : clients_) {
    if (client.finished) handler_.client_closed(client.id);
  }
  clients_.remove_if([](const Client& client) { return client.finished; });
}

}  // namespace ltn::audit
#endif
