// The thread behind the socket of native/audit/attach.h.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_SERVER_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_SERVER_H_

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "native/audit/descriptor.h"
#include "native/audit/peer.h"
#include "native/audit/requests.h"

namespace ltn::audit {

// Backlog of listen(2).
inline constexpr int kListenBacklog = 128;

// Lives as long as the process, on its thread.
class AttachServer {
 public:
  AttachServer(Descriptor socket, const Sources& sources, bool any_namespace);
  // Does not return.
  void run() noexcept;

 private:
  struct Client {
    uint64_t id = 0;
    Descriptor socket;
    pid_t pid = 0;
    std::string in, out;
    int64_t since_ms = 0;  // time of its last activity
    bool asked = false;    // has sent a complete request
    bool finished = false;
  };

  void wait();
  bool can_time_out(const Client& client) const noexcept;
  int64_t idle_deadline(const Client& client) const noexcept;
  void accept_all();
  void accept_one(Descriptor socket, int64_t now);
  void drop_idlest() noexcept;
  void receive(Client& client);
  void send(Client& client);
  void drop() noexcept;

  const Descriptor socket_;
  const bool any_namespace_;
  RequestHandler handler_;
  AcceptLimiter accept_limiter_;
  std::list<Client> clients_;
  uint64_t clients_so_far_ = 0;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_SERVER_H_
