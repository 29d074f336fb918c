#include "native/exports/audit_follow.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "native/async/passive_resource.h"
#include "native/audit/audit.h"
#include "native/audit/heap_requests.h"

namespace ltn::audit {

namespace {

// One per environment, deleted by its first cleanup hook.
struct Follower {
  napi_env env = nullptr;
  uint32_t number = 0;  // the environment's
  napi_ref callback = nullptr;
  napi_threadsafe_function wake = nullptr;
  // Calls requested (begins, ends, wakes), and the count up to which the callback has run.
  uint64_t calls = 0, heard = 0;  // guarded by Followers::mutex
};

struct Followers {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Follower*> all;  // the open ones
};

// Process-wide, never destroyed: a recording may end as late as in an exit handler.
Followers& process_followers() {
  static Followers* const instance = new Followers;
  return *instance;
}

// Any thread. One pending call is enough: the callback reads the state at the time it runs.
void notify_followers() noexcept {
  Followers& followers = process_followers();
  const std::lock_guard<std::mutex> lock(followers.mutex);
  for (Follower* follower : followers.all) {
    ++follower->calls;
    static_cast<void>(napi_call_threadsafe_function(follower->wake, nullptr, napi_tsfn_nonblocking));
  }
}

// `env` is null once the environment is closing; the follower is gone then.
void deliver(napi_env env, napi_value, void* context, void*) {
  if (env == nullptr) return;
  auto* follower = static_cast<Follower*>(context);
  Followers& followers = process_followers();
  uint64_t calls = 0;
  {
    const std::lock_guard<std::mutex> lock(followers.mutex);
    calls = follower->calls;
  }
  napi_value callback = nullptr, receiver = nullptr;
  if (napi_get_reference_value(env, follower->callback, &callback) != napi_ok || callback == nullptr) return;
  if (napi_get_undefined(env, &receiver) != napi_ok) return;
  static_cast<void>(napi_call_function(env, receiver, callback, 0, nullptr, nullptr));
  {
    const std::lock_guard<std::mutex> lock(followers.mutex);
    follower->heard = calls;
  }
  followers.changed.notify_all();
}

void close(void* data) {
  auto* follower = static_cast<Follower*>(data);
  {
    Followers& followers = process_followers();
    const std::lock_guard<std::mutex> lock(followers.mutex);
    process_heap_requests().end_environment(follower->number);
    followers.all.erase(std::remove(followers.all.begin(), followers.all.end(), follower), followers.all.end());
  }
  process_followers().changed.notify_all();
  napi_delete_reference(follower->env, follower->callback);
}

void destroy(void* data) { const std::unique_ptr<Follower> follower(static_cast<Follower*>(data)); }

void open(napi_env env, Follower* follower) {
  napi_value name = nullptr, resource = nullptr;
  if (napi_create_string_utf8(env, "libtorch-node", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      async::passive_resource(env, &resource) != napi_ok ||
      napi_create_threadsafe_function(env, nullptr, resource, name, 1, 1, nullptr, nullptr, follower, &deliver,
                                      &follower->wake) != napi_ok) {
    throw Napi::Error::New(env);
  }
  static_cast<void>(napi_unref_threadsafe_function(env, follower->wake));
  Followers& followers = process_followers();
  const std::lock_guard<std::mutex> lock(followers.mutex);
  followers.all.push_back(follower);
}

// auditFollow(callback: () => void): void
void follow(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  auto* follower = static_cast<Follower*>(info.Data());
  if (info.Length() < 1 || !info[0].IsFunction()) throw Napi::TypeError::New(env, "auditFollow: expected a function");
  napi_ref callback = nullptr;
  if (napi_create_reference(env, info[0], 1, &callback) != napi_ok) throw Napi::Error::New(env);
  if (follower->callback != nullptr) napi_delete_reference(env, follower->callback);
  follower->callback = callback;
  if (follower->wake != nullptr) return;
  open(env, follower);
  // Hooks run last in, first out: this one before the hook of the thread-safe function, which frees it.
  napi_add_env_cleanup_hook(env, &close, follower);
}

}  // namespace

void wait_until_notified(int64_t max_ms) {
  Followers& followers = process_followers();
  std::unique_lock<std::mutex> lock(followers.mutex);
  const auto has_heard = [](const Follower* follower) { return follower->heard == follower->calls; };
  followers.changed.wait_for(lock, std::chrono::milliseconds(max_ms),
                             [&] { return std::all_of(followers.all.begin(), followers.all.end(), has_heard); });
}

std::vector<uint32_t> followed_environments() {
  Followers& followers = process_followers();
  const std::lock_guard<std::mutex> lock(followers.mutex);
  std::vector<uint32_t> numbers;
  for (const Follower* follower : followers.all) numbers.push_back(follower->number);
  return numbers;  // in order of loading: the main thread's first if it loaded the library first
}

void wake_followers() { notify_followers(); }

void export_follow(Napi::Env env, Napi::Object exports, uint32_t env_number) {
  set_follower(&notify_followers);
  auto follower = std::make_unique<Follower>();
  follower->env = env;
  follower->number = env_number;
  exports.Set("auditFollow", Napi::Function::New<follow>(env, "auditFollow", follower.get()));
  napi_add_env_cleanup_hook(env, &destroy, follower.get());
  static_cast<void>(follower.release());
}

}  // namespace ltn::audit
