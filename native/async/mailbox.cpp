#include "native/async/mailbox.h"

#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

#include "native/async/passive_resource.h"
#include "native/async/pool.h"

namespace ltn::async {

std::shared_ptr<Mailbox> Mailbox::create(napi_env env, napi_value on_mail) {
  std::shared_ptr<Mailbox> mailbox(new Mailbox(env));  // private constructor: owned at once
  uv_loop_s* loop = nullptr;
  napi_value name = nullptr, resource = nullptr;
  auto wake = std::make_unique<uv_async_t>();
  auto awake = std::make_unique<uv_idle_t>();
  auto next_turn = std::make_unique<uv_idle_t>();
  const auto on_wake = [](uv_async_t* async) { static_cast<Mailbox*>(async->data)->deliver(); };
  if (napi_get_uv_event_loop(env, &loop) != napi_ok ||
      napi_create_string_utf8(env, "libtorch-node", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_reference(env, on_mail, 1, &mailbox->on_mail_) != napi_ok ||
      passive_resource(env, &resource) != napi_ok ||
      napi_async_init(env, resource, name, &mailbox->context_) != napi_ok ||
      uv_async_init(loop, wake.get(), on_wake) != 0) {
    throw std::runtime_error("torch.async could not join the event loop");
  }
  uv_idle_init(loop, awake.get());  // cannot fail
  awake->data = mailbox.get();
  uv_unref(reinterpret_cast<uv_handle_t*>(awake.get()));
  mailbox->awake_ = awake.release();
  uv_idle_init(loop, next_turn.get());
  next_turn->data = mailbox.get();
  uv_unref(reinterpret_cast<uv_handle_t*>(next_turn.get()));
  mailbox->next_turn_ = next_turn.release();
  wake->data = mailbox.get();
  uv_unref(reinterpret_cast<uv_handle_t*>(wake.get()));
  mailbox->wake_ = wake.release();  // close() passes it to libuv
  return mailbox;
}

void Mailbox::set_receiver(napi_value on_mail) {
  napi_ref receiver = nullptr;
  if (napi_create_reference(env_, on_mail, 1, &receiver) != napi_ok) {
    throw std::runtime_error("torch.async could not keep its function");
  }
  napi_delete_reference(env_, on_mail_);
  on_mail_ = receiver;
}

void Mailbox::post(uint64_t strand, bool was_short) noexcept {
  was_short_.store(was_short, std::memory_order_relaxed);
  for (;;) {
    try {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (closed_) return;
      waiting_.push_back(strand);
      uv_async_send(wake_);
      return;
    } catch (const std::bad_alloc&) {  // a promise depends on it: wait until others free memory
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

void Mailbox::post_here(uint64_t strand) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return;
    waiting_.push_back(strand);
  }
  uv_idle_start(next_turn_, [](uv_idle_t* idle) {
    uv_idle_stop(idle);
    auto& mailbox = *static_cast<Mailbox*>(idle->data);
    mailbox.spent_here_ = std::chrono::nanoseconds(0);
    mailbox.deliver();
  });
}

std::vector<uint64_t> Mailbox::take() {
  std::vector<uint64_t> strands;
  const std::lock_guard<std::mutex> lock(mutex_);
  strands.swap(waiting_);
  return strands;
}

void Mailbox::begin() noexcept {
  begin_here();
  if (was_short_.load(std::memory_order_relaxed)) stay_awake();
}

void Mailbox::begin_here() noexcept {
  if (under_way_++ == 0 && wake_ != nullptr) uv_ref(reinterpret_cast<uv_handle_t*>(wake_));
}

void Mailbox::stay_awake() noexcept {
  if (awake_ == nullptr) return;
  awake_until_ = uv_hrtime() + static_cast<uint64_t>(std::chrono::nanoseconds(kAwake).count());
  uv_idle_start(awake_, [](uv_idle_t* idle) {
    const auto& mailbox = *static_cast<Mailbox*>(idle->data);
    if (mailbox.under_way_ == 0 || uv_hrtime() > mailbox.awake_until_)
      uv_idle_stop(idle);
    else
      std::this_thread::yield();
  });
}

void Mailbox::end() noexcept {
  if (--under_way_ == 0 && wake_ != nullptr) uv_unref(reinterpret_cast<uv_handle_t*>(wake_));
}

// libuv calls this outside of any JavaScript.
void Mailbox::deliver() noexcept {
  napi_handle_scope scope = nullptr;
  napi_value function = nullptr;
  napi_value receiver = nullptr;
  if (napi_open_handle_scope(env_, &scope) != napi_ok) return;
  if (napi_get_reference_value(env_, on_mail_, &function) == napi_ok && napi_get_global(env_, &receiver) == napi_ok &&
      napi_make_callback(env_, context_, receiver, function, 0, nullptr, nullptr) == napi_pending_exception) {
    // Not from the library's own code, which rejects promises: e.g. a stack overflow, or the worker is being
    // terminated.
    napi_value error = nullptr;
    if (napi_get_and_clear_last_exception(env_, &error) == napi_ok) napi_fatal_exception(env_, error);
  }
  napi_close_handle_scope(env_, scope);
}

void Mailbox::close() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  if (on_mail_ != nullptr) napi_delete_reference(env_, on_mail_);
  if (context_ != nullptr) napi_async_destroy(env_, context_);
  on_mail_ = nullptr;
  context_ = nullptr;
  if (wake_ == nullptr) return;
  uv_close(reinterpret_cast<uv_handle_t*>(wake_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_async_t*>(handle); });
  wake_ = nullptr;
  for (uv_idle_t** idle : {&awake_, &next_turn_}) {
    uv_close(reinterpret_cast<uv_handle_t*>(*idle),
             [](uv_handle_t* handle) { delete reinterpret_cast<uv_idle_t*>(handle); });
    *idle = nullptr;
  }
}

}  // namespace ltn::async
