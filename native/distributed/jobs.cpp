#include "native/distributed/jobs.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <utility>

#include "native/distributed/open.h"
#include "native/distributed/threads.h"

namespace ltn::distributed {
namespace {

Outcome failed(std::exception_ptr error) {
  Outcome outcome;
  try {
    outcome.failure = library().failure(std::move(error));
  } catch (...) {  // out of memory: without its text
    outcome.failure.emplace();
  }
  return outcome;
}

}  // namespace

std::shared_ptr<Group> own_group(Group* group) {
  return {group, [](Group* ended) {
            try {
              run_blocking([ended] { delete ended; });  // its destructor joins threads, perhaps this one
            } catch (...) {                             // no thread could be started: the process keeps the group
            }
          }};
}

std::shared_ptr<Jobs> Jobs::create(napi_env env, napi_value on_mail) {
  std::shared_ptr<Jobs> jobs(new Jobs);  // private constructor: owned at once
  jobs->mailbox_ = async::Mailbox::create(env, on_mail);
  return jobs;
}

Jobs::Id Jobs::begin() {
  const Id id = ++last_;
  jobs_[id].progress = std::make_shared<Progress>();
  mailbox_->begin();
  return id;
}

Jobs::Id Jobs::run(std::function<Outcome(const Progress&)> work) {
  const Id id = begin();
  try {
    run_blocking([self = shared_from_this(), id, progress = jobs_[id].progress, work = std::move(work)]() mutable {
      Outcome outcome;
      try {
        outcome = work(*progress);
      } catch (...) {  // any exception is the outcome
        outcome = failed(std::current_exception());
      }
      work = nullptr;
      self->finish(id, std::move(outcome));
    });
  } catch (...) {  // nothing runs: the caller gets the error
    jobs_.erase(id);
    mailbox_->end();
    throw;
  }
  return id;
}

Jobs::Id Jobs::start(const std::shared_ptr<Group>& group, Collective collective) {
  const Id id = begin();
  try {
    std::shared_ptr<Work> work = group->start(std::move(collective));
    jobs_[id].work = work;
    jobs_[id].group = group;
    const auto ended = [weak = weak_from_this(), id](std::exception_ptr error) {
      const auto self = weak.lock();
      if (self == nullptr) return;
      Outcome outcome;
      if (error != nullptr) outcome = failed(std::move(error));
      self->finish(id, std::move(outcome));
    };
    if (work->on_end(ended)) return id;
    run_blocking([self = shared_from_this(), id, work]() mutable {
      Outcome outcome;
      try {
        work->wait();
        outcome.value = work->source();
      } catch (...) {  // any exception is the outcome
        outcome = failed(std::current_exception());
      }
      work.reset();
      self->finish(id, std::move(outcome));
    });
  } catch (...) {  // refused at once
    finish(id, failed(std::current_exception()));
  }
  return id;
}

void Jobs::finish(Id id, Outcome outcome) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    outcomes_.emplace(id, std::move(outcome));
  }
  mailbox_->post(id);
}

std::vector<Jobs::Id> Jobs::mail() {
  std::vector<Id> ended = mailbox_->take();
  for (const Id id : ended) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;
    if (!found->second.abandoned) mailbox_->end();
    jobs_.erase(found);
  }
  return ended;
}

Outcome Jobs::take(Id id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = outcomes_.find(id);
  if (found == outcomes_.end()) return {};
  Outcome outcome = std::move(found->second);
  outcomes_.erase(found);
  return outcome;
}

void Jobs::abandon(Id id) noexcept {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.abandoned) return;
  found->second.abandoned = true;
  found->second.progress->cancelled.store(true);
  if (found->second.work != nullptr) found->second.work->cancel();
  mailbox_->end();
}

void Jobs::add_group(const std::shared_ptr<Group>& group) {
  groups_.erase(std::remove_if(groups_.begin(), groups_.end(), [](const auto& weak) { return weak.expired(); }),
                groups_.end());
  groups_.push_back(group);
}

void Jobs::close() noexcept {
  struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    size_t open = 0;
  };
  try {
    const auto waiting = std::make_shared<Waiting>();
    for (const auto& weak : groups_) {
      const auto group = weak.lock();
      if (group == nullptr) continue;
      {
        const std::lock_guard<std::mutex> lock(waiting->mutex);
        ++waiting->open;
      }
      run_blocking([group, waiting] {
        group->close();
        const std::lock_guard<std::mutex> lock(waiting->mutex);
        --waiting->open;
        waiting->changed.notify_all();
      });
    }
    // So that no thread of Gloo runs while the process destroys what libtorch needs. A kernel in the middle of a large
    // reduction ends first; longer than this only a group that is still being connected takes, which only waits.
    std::unique_lock<std::mutex> lock(waiting->mutex);
    waiting->changed.wait_for(lock, std::chrono::seconds(5), [&] { return waiting->open == 0; });
  } catch (...) {  // no thread could be started: the groups end with the process
  }
  for (auto& [id, job] : jobs_) {
    job.progress->cancelled.store(true);
    if (job.work != nullptr) job.work->cancel();
  }
  jobs_.clear();
  mailbox_->close();
}

}  // namespace ltn::distributed
