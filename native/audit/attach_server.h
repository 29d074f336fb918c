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

// How many connections the kernel lets wait.
inline constexpr int kMostWaiting = 128;

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
    int64_t since_ms = 0;  // of its last act
    bool asked = false;    // a whole request
    bool over = false;
  };

  void wait();
  bool is_limited(const Client& client) const noexcept;
  int64_t patience_ends(const Client& client) const noexcept;
  void accept_all();
  void accept_one(Descriptor socket, int64_t now);
  void make_place() noexcept;
  void take(Client& client);
  void send(Client& client);
  void drop() noexcept;

  const Descriptor socket_;
  const bool any_namespace_;
  Desk desk_;
  Gate gate_;
  std::list<Client> clients_;
  uint64_t clients_so_far_ = 0;
};

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_ATTACH_SERVER_H_
