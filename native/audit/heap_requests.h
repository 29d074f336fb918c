// Heap snapshots requested by leak-audit: which environment writes one, where, and its progress.
//
// A snapshot holds everything in the program's heap. It is written to a file that leak-audit opened and unlinked:
// nobody else can open it, and nothing of it remains when leak-audit is killed.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_HEAP_REQUESTS_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_HEAP_REQUESTS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "native/audit/descriptor.h"

namespace ltn::audit {

// Lifetime: one per process, never destroyed; owns the files' descriptors until the request is finished. Thread: any.
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

  // Adds a request. False if the environment has one already. `client`: who asked.
  bool ask(uint32_t env, uint64_t client, Descriptor snapshot, Descriptor facts);
  // For the environment itself: takes its request and sets it to Writing. False if there is none.
  bool take(uint32_t env, Files* files);
  // The environment finished the request, or failed if `error` is not empty. Closes the files.
  void done(uint32_t env, double paused_ms, const std::string& error);
  // The progress. A finished request is reported once and then removed.
  Progress take_progress(uint32_t env);
  // The environment ends: removes its request.
  void end_environment(uint32_t env) noexcept;
  // The client disconnected: removes its requests that are not Writing yet, so that no thread pauses in vain.
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
