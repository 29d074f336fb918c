// The operations that JavaScript waits for.
#pragma once

#include <node_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "native/async/mailbox.h"
#include "native/distributed/library.h"

namespace ltn::distributed {

struct Outcome {
  std::optional<Failure> failure;
  std::variant<std::monostate, bool, int64_t, Bytes, std::shared_ptr<Store>, std::shared_ptr<Group>> value;
};

// What an operation in progress looks at. Lifetime: shared by the job and the thread that works on it. Thread: any.
struct Progress {
  std::atomic<bool> cancelled{false};
};

// A group that its last owner frees on a thread for blocking calls. Any thread.
std::shared_ptr<Group> own_group(Group* group);

// Lifetime: shared by its environment and the operations in progress: one that ends after its environment finds the
// mailbox closed, and its outcome is dropped. Thread: finish() from any; the rest on the environment's JS thread.
class Jobs : public std::enable_shared_from_this<Jobs> {
 public:
  using Id = uint64_t;
  // `on_mail()` is called when operations have ended.
  static std::shared_ptr<Jobs> create(napi_env env, napi_value on_mail);
  void set_receiver(napi_value on_mail) { mailbox_->set_receiver(on_mail); }

  // The number of the next operation.
  Id next() const noexcept { return last_ + 1; }
  // Begins an operation, which keeps the process alive until its mail was taken.
  Id begin();
  // Runs `work` on a thread for blocking calls; its result or failure is the outcome.
  Id run(std::function<Outcome(const Progress&)> work);
  // Starts a collective, whose tensors are `lent` until its mail is taken.
  Id start(const std::shared_ptr<Group>& group, Collective collective);

  void finish(Id id, Outcome outcome) noexcept;

  // The operations that have ended since the last call.
  std::vector<Id> mail();
  Outcome take(Id id);
  // No one waits for the operation any more: it ends early, if that is possible, and does not keep the process alive.
  void abandon(Id id) noexcept;
  // Groups that close() ends.
  void add_group(const std::shared_ptr<Group>& group);
  // The environment or the process ends: ends its groups, and waits for them for a moment.
  void close() noexcept;

 private:
  struct Job {
    std::shared_ptr<Progress> progress;
    std::shared_ptr<Work> work;    // of a collective
    std::shared_ptr<Group> group;  // of a collective: not freed by the thread that ends it
    bool abandoned = false;
  };

  Jobs() = default;

  std::shared_ptr<async::Mailbox> mailbox_;
  Id last_ = 0;
  std::unordered_map<Id, Job> jobs_;
  std::vector<std::weak_ptr<Group>> groups_;
  std::mutex mutex_;
  std::unordered_map<Id, Outcome> outcomes_;  // guarded by mutex_
};

}  // namespace ltn::distributed
