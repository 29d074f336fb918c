// Messages from the pool to the JS thread of an environment.
#pragma once

#include <node_api.h>
#include <uv.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace ltn::async {

// Lifetime: shared by its environment and the running batches, so a batch that ends after its environment finds it
// closed and does nothing. Thread: post() from any; the rest on the environment's JS thread.
class Mailbox {
 public:
  // `on_mail()` is called on the JS thread, soon after one or several calls of post().
  static std::shared_ptr<Mailbox> create(napi_env env, napi_value on_mail);

  void set_receiver(napi_value on_mail);

  // `was_short`: the next batch is expected to end so soon that the event loop should not sleep meanwhile.
  void post(uint64_t strand, bool was_short = false) noexcept;
  // Batches may run on the JS thread for so long in each turn of the event loop, which has other work.
  static constexpr std::chrono::microseconds kTimeHere{200};
  bool has_time_here() const noexcept { return spent_here_ < kTimeHere; }
  void spend_here(std::chrono::nanoseconds time) noexcept { spent_here_ += time; }
  // post() on the JS thread: the receiver is called in the next turn of the event loop, without a wake-up.
  void post_here(uint64_t strand);
  // The strands whose batches have ended since the last call.
  std::vector<uint64_t> take();
  // A running batch keeps the process alive.
  void begin() noexcept;
  // For a batch that runs on the JS thread.
  void begin_here() noexcept;
  void end() noexcept;
  void close() noexcept;

 private:
  explicit Mailbox(napi_env env) : env_(env) {}
  void deliver() noexcept;
  void stay_awake() noexcept;

  const napi_env env_;
  napi_ref on_mail_ = nullptr;
  napi_async_context context_ = nullptr;
  uint64_t under_way_ = 0;
  std::mutex mutex_;
  std::vector<uint64_t> waiting_;           // guarded by mutex_
  bool closed_ = false;                     // guarded by mutex_
  uv_async_t* wake_ = nullptr;              // freed by libuv's close callback
  uv_idle_t* awake_ = nullptr;              // likewise; while it is active, the event loop does not sleep
  uv_idle_t* next_turn_ = nullptr;          // likewise; active while it delivers what post_here() put
  std::chrono::nanoseconds spent_here_{0};  // in this turn
  uint64_t awake_until_ = 0;                // ns, as of uv_hrtime()
  std::atomic<bool> was_short_{false};
};

}  // namespace ltn::async
