// Heap snapshots that leak-audit asked for: which environment is to write one, where, and how far it is.
//
// A snapshot holds everything that the program holds. It goes into a file that leak-audit opened, which has no name any
// more: nobody else can come by it, and nothing of it stays when leak-audit is killed.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_HEAP_REQUESTS_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_HEAP_REQUESTS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "native/audit/descriptor.h"

namespace ltn::audit {

// Lifetime: one for the process, never destroyed; it owns the files' descriptors until the request is over. Thread:
// any.
class HeapRequests {
 public:
  struct Files {
    int snapshot = -1, facts = -1;
  };
  struct Progress {
    enum State { None, Waiting, Writing, Done, Failed } state = None;
    double paused_ms = 0;
    std::string error;
  };

  // False while the environment has one already. `client`: who asked.
  bool ask(uint32_t env, uint64_t client, Descriptor snapshot, Descriptor facts);
  // For the environment itself: its request, which it is at from now on. False where nobody asked.
  bool take(uint32_t env, Files* files);
  // It is done with it, or (`error` is not empty) it failed. The files are closed.
  void done(uint32_t env, double paused_ms, const std::string& error);
  // How far it is. What is over is told once, and then forgotten.
  Progress look(uint32_t env);
  // The environment ends: nobody will answer.
  void end_environment(uint32_t env) noexcept;
  // Whoever asked is gone: what nobody began yet is forgotten, so that no thread pauses for nobody.
  void forget_client(uint64_t client) noexcept;

 private:
  struct Request {
    uint64_t client = 0;
    Descriptor snapshot, facts;
    Progress progress;
  };
  std::mutex mutex_;
  std::map<uint32_t, Request> requests_;  // by environment; guarded by mutex_
};

HeapRequests& process_heap_requests();

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_HEAP_REQUESTS_H_
