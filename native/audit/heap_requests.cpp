#include "native/audit/heap_requests.h"

#include <iterator>
#include <utility>

namespace ltn::audit {

bool HeapRequests::ask(uint32_t env, uint64_t client, Descriptor snapshot, Descriptor facts) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Request& request = requests_[env];
  const auto state = request.progress.state;
  if (state == Progress::Waiting || state == Progress::Writing) return false;
  request.client = client;
  request.snapshot = std::move(snapshot);
  request.facts = std::move(facts);
  request.progress = {Progress::Waiting, 0, ""};
  return true;
}

bool HeapRequests::take(uint32_t env, Files* files) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = requests_.find(env);
  if (it == requests_.end() || it->second.progress.state != Progress::Waiting) return false;
  it->second.progress.state = Progress::Writing;
  *files = {it->second.snapshot.get(), it->second.facts.get()};
  return true;
}

void HeapRequests::done(uint32_t env, double paused_ms, const std::string& error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = requests_.find(env);
  if (it == requests_.end()) return;
  it->second.snapshot.reset();
  it->second.facts.reset();
  it->second.progress = {error.empty() ? Progress::Done : Progress::Failed, paused_ms, error};
}

HeapRequests::Progress HeapRequests::take_progress(uint32_t env) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = requests_.find(env);
  if (it == requests_.end()) return {};
  Progress progress = it->second.progress;
  if (progress.state == Progress::Done || progress.state == Progress::Failed) requests_.erase(it);
  return progress;
}

void HeapRequests::end_environment(uint32_t env) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  requests_.erase(env);
}

void HeapRequests::forget_client(uint64_t client) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = requests_.begin(); it != requests_.end();) {
    const bool begun = it->second.progress.state == Progress::Writing;
    it = it->second.client == client && !begun ? requests_.erase(it) : std::next(it);
  }
}

HeapRequests& process_heap_requests() {
  static HeapRequests* const instance = new HeapRequests;
  return *instance;
}

}  // namespace ltn::audit
