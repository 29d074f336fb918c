#include "native/audit/attach_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "native/audit/writer.h"

namespace ltn::audit {

namespace {

constexpr size_t kMostClients = 64;
// Who began no recording and says nothing for so long, or does not take its answer, is let go; sooner who never asked.
constexpr int64_t kPatienceMs = 120'000, kFirstPatienceMs = 10'000;
constexpr size_t kMostUnread = size_t{16} << 20;
// Between two looks at the door while strangers flood it, and while no descriptor is left.
constexpr int64_t kFloodPauseMs = 50, kFullPauseMs = 100;

}  // namespace

AttachServer::AttachServer(Descriptor socket, const Sources& sources, bool any_namespace)
    : socket_(std::move(socket)), any_namespace_(any_namespace), desk_(sources) {}

void AttachServer::run() noexcept {
  for (;;) {
    try {
      wait();
    } catch (...) {  // no memory: whoever asked may ask again
      for (Client& client : clients_) client.over = true;
    }
    drop();
  }
}

void AttachServer::wait() {
  const int64_t before = steady_ms();
  const bool looks = gate_.is_open(before);  // a negative descriptor is passed over by poll
  std::vector<pollfd> watched{{looks ? socket_.get() : -1, POLLIN, 0}};
  int64_t until = desk_.deadline();
  if (!looks) until = std::min(until, gate_.closed_until());
  for (const Client& client : clients_) {
    watched.push_back({client.socket.get(), static_cast<short>(client.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    until = std::min(until, patience_ends(client));
  }
  const int64_t left = until == INT64_MAX ? -1 : std::clamp<int64_t>(until - before, 0, 60'000);
  const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(left));
  desk_.at_deadline();
  size_t i = 1;
  for (Client& client : clients_) {
    const short events = ready > 0 ? watched[i].revents : static_cast<short>(0);
    ++i;
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) take(client);
    if (steady_ms() >= patience_ends(client)) client.over = true;
  }
  if (const uint64_t id = desk_.ended()) {
    for (Client& client : clients_) {
      if (client.id == id) client.out += "{\"event\":\"ended\"}\n";
    }
  }
  for (Client& client : clients_) send(client);
  drop();
  if (ready > 0 && watched[0].revents != 0) accept_all();
}

bool AttachServer::is_limited(const Client& client) const noexcept {
  return !desk_.began(client.id) || !client.out.empty();
}

int64_t AttachServer::patience_ends(const Client& client) const noexcept {
  if (!is_limited(client)) return INT64_MAX;
  return client.since_ms + (client.asked ? kPatienceMs : kFirstPatienceMs);
}

// All that wait, so that nobody keeps the owner's place in the queue: strangers are gone with one look each.
void AttachServer::accept_all() {
  for (int accepted = 0; accepted < kMostWaiting; ++accepted) {
    Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      accept_one(std::move(socket), steady_ms());
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    // No descriptor is left, say: it stays ready, so that without a pause this would be a busy loop.
    if (errno != EAGAIN) gate_.close_until(steady_ms() + kFullPauseMs);
    return;
  }
}

void AttachServer::accept_one(Descriptor socket, int64_t now) {
  pid_t pid = 0;
  const Verdict verdict = verdict_on_peer(socket.get(), any_namespace_, &pid);
  if (verdict != Verdict::Ours) {
    if (!gate_.refused(now)) {
      gate_.close_until(now + kFloodPauseMs);  // closed without a word
      return;
    }
    Client stranger;
    stranger.socket = std::move(socket);
    stranger.out = error_answer(refusal_of(verdict)) + "\n";
    send(stranger);
    return;
  }
  if (clients_.size() >= kMostClients) make_place();
  std::list<Client> one(1);
  Client& client = one.front();
  client.socket = std::move(socket);
  client.id = ++clients_so_far_;
  client.since_ms = now;
  client.pid = pid;
  clients_.splice(clients_.end(), one);
}

// The one that was silent for longest goes: a crowd that holds its connections keeps nobody out.
void AttachServer::make_place() noexcept {
  Client* oldest = nullptr;
  for (Client& client : clients_) {
    if (is_limited(client) && (oldest == nullptr || client.since_ms < oldest->since_ms)) oldest = &client;
  }
  if (oldest != nullptr) oldest->over = true;
  drop();
}

void AttachServer::take(Client& client) {
  char bytes[4096];
  const ssize_t n = ::recv(client.socket.get(), bytes, sizeof(bytes), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    client.over = true;
    return;
  }
  client.in.append(bytes, static_cast<size_t>(n));
  for (size_t end = client.in.find('\n'); end != std::string::npos; end = client.in.find('\n')) {
    client.asked = true;
    client.since_ms = steady_ms();  // of whole requests: bytes one by one win no time
    client.out += desk_.answer(std::string_view(client.in).substr(0, end), client.id, client.pid) + "\n";
    client.in.erase(0, end + 1);
    if (client.out.size() > kMostUnread) client.over = true;  // it asks, and does not listen
    if (client.over) return;
  }
  if (client.in.size() > kMostRequestBytes) client.over = true;
}

void AttachServer::send(Client& client) {
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

void AttachServer::drop() noexcept {
  for (const Client& client : clients_) {
    if (client.over) desk_.gone(client.id);
  }
  clients_.remove_if([](const Client& client) { return client.over; });
}

}  // namespace ltn::audit
