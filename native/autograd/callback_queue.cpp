#include "native/autograd/callback_queue.h"

#include <ATen/ThreadLocalState.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "native/errors/errors.h"
#include "native/errors/thrown.h"

namespace ltn::autograd {
namespace {

constexpr auto kDevice = c10::DeviceType::CUDA;

// The kind of debug info that holds a `Waiting`; libtorch passes it to each thread that runs nodes of the backward.
const auto kInfo = c10::DebugInfoKind::TEST_INFO_2;

thread_local std::shared_ptr<CallbackQueue> queue_of_thread;

// Tests set LTN_BACKWARD_THREAD to get a device's threads on a machine without one.
bool is_forced() noexcept { return std::getenv("LTN_BACKWARD_THREAD") != nullptr; }

}  // namespace

// Which thread waits for a backward. Lifetime: shared by the threads of the backward. Thread: any; it does not change.
struct CallbackQueue::Waiting : c10::DebugInfoBase {
  Waiting(std::shared_ptr<CallbackQueue> queue, int depth) : queue(std::move(queue)), depth(depth) {}
  const std::shared_ptr<CallbackQueue> queue;
  const int depth;  // of nested backwards
};

// What another thread runs for the JS thread. Lifetime: the frame of run(). `is_done` and `error` are guarded by the
// queue's mutex.
struct CallbackQueue::Job {
  const std::function<void()>& body;
  bool is_done = false;
  std::exception_ptr error;

  std::exception_ptr run() const noexcept {
    try {
      body();
      return nullptr;
    } catch (...) {  // rethrown by run()
      return std::current_exception();
    }
  }
};

// What the JS thread runs for another one. Lifetime: the frame of request(). Guarded by the queue's mutex.
struct CallbackQueue::Request {
  const std::function<void()>& body;
  const at::ThreadLocalState modes;
  const int depth;  // of its backward
  const std::thread::id thread = std::this_thread::get_id();
  bool is_done = false;
  bool is_refused = false;
  std::exception_ptr error;
  Job* nested = nullptr;  // a backward that `body` has begun, for the thread that waits
};

const std::shared_ptr<CallbackQueue>& CallbackQueue::of_thread() {
  if (queue_of_thread == nullptr) queue_of_thread = std::make_shared<CallbackQueue>();
  return queue_of_thread;
}

bool CallbackQueue::is_of_thread() const noexcept { return queue_of_thread.get() == this; }

bool CallbackQueue::is_linked() noexcept { return is_forced() || c10::impl::hasDeviceGuardImpl(kDevice); }

bool CallbackQueue::is_needed_on_thread() {
  if (queue_of_thread == nullptr || queue_of_thread->callbacks_.load(std::memory_order_relaxed) <= 0) return false;
  static const bool has_device =
      is_forced() || (is_linked() && c10::impl::getDeviceGuardImpl(kDevice)->deviceCount() > 0);
  return has_device;
}

const CallbackQueue::Waiting* CallbackQueue::waiting_of_thread() {
  return static_cast<const Waiting*>(c10::ThreadLocalDebugInfo::get(kInfo));
}

std::shared_ptr<CallbackQueue> CallbackQueue::of_backward() {
  const Waiting* const waiting = waiting_of_thread();
  return waiting == nullptr ? nullptr : waiting->queue;
}

// While a callback of a device's thread runs a nested backward, requests of the thread that started the outermost
// backward are not served. Serving one could begin a backward with nodes on that device, whose thread would then wait
// for this thread while this thread waits for it.
CallbackQueue::Request* CallbackQueue::next() const {
  const bool is_on_device = served_ != nullptr && served_->thread != starter_;
  for (Request* const request : requests_) {
    if (!is_on_device || request->thread != starter_) return request;
  }
  return nullptr;
}

void CallbackQueue::serve(std::unique_lock<std::mutex>& lock, Request* request) {
  requests_.erase(std::find(requests_.begin(), requests_.end(), request));
  const bool is_outer = request->depth < depth_;
  Request* const before = std::exchange(served_, request);
  lock.unlock();
  std::exception_ptr error;
  try {
    const at::ThreadLocalStateGuard modes(request->modes);
    request->body();
  } catch (const ThrownByProgram&) {
    // A value thrown by a hook of an outer backward would not outlive the native call of the inner one.
    error = is_outer ? std::make_exception_ptr(CodedError(
                           "ERR_TORCH_RUNTIME",
                           "a hook of an outer backward: expected no exception while a nested backward runs, got one"))
                     : std::current_exception();
  } catch (...) {  // rethrown by request()
    error = std::current_exception();
  }
  lock.lock();
  served_ = before;
  request->error = std::move(error);
  request->is_done = true;
  changed_.notify_all();
}

void CallbackQueue::run(const std::function<void()>& backward) {
  const c10::DebugInfoGuard waiting(kInfo, std::make_shared<Waiting>(shared_from_this(), depth_ + 1));
  const at::ThreadLocalState modes;
  const std::function<void()> body = [&] {
    const at::ThreadLocalStateGuard with_modes(modes);
    backward();
  };
  Job job{body};
  std::thread thread;
  std::unique_lock<std::mutex> lock(mutex_);
  if (served_ != nullptr) {
    served_->nested = &job;
    changed_.notify_all();
  } else {
    thread = std::thread([this, &job] {
      std::exception_ptr error = job.run();
      const std::lock_guard<std::mutex> ending(mutex_);
      job.error = std::move(error);
      job.is_done = true;
      changed_.notify_all();
    });
    starter_ = thread.get_id();
  }
  ++depth_;
  for (;;) {
    changed_.wait(lock, [&] { return job.is_done || next() != nullptr; });
    if (job.is_done) break;
    serve(lock, next());
  }
  if (--depth_ == 0) {
    // Refuses what is left: requests of other backwards, for which this thread does not wait.
    for (Request* const left : std::exchange(requests_, {})) left->is_refused = left->is_done = true;
    changed_.notify_all();
  }
  lock.unlock();
  if (thread.joinable()) thread.join();
  if (job.error != nullptr) std::rethrow_exception(job.error);
}

bool CallbackQueue::request(const std::function<void()>& body) {
  const Waiting* const waiting = waiting_of_thread();
  if (waiting == nullptr || waiting->queue.get() != this || std::this_thread::get_id() == thread_) return false;
  Request request{body, at::ThreadLocalState(), waiting->depth};
  std::unique_lock<std::mutex> lock(mutex_);
  if (depth_ == 0) return false;
  requests_.push_back(&request);
  changed_.notify_all();
  for (;;) {
    changed_.wait(lock, [&] { return request.is_done || request.nested != nullptr; });
    if (request.is_done) break;
    Job* const job = std::exchange(request.nested, nullptr);
    lock.unlock();
    std::exception_ptr error = job->run();
    lock.lock();
    job->error = std::move(error);
    job->is_done = true;
    changed_.notify_all();
  }
  if (request.error != nullptr) std::rethrow_exception(request.error);
  return !request.is_refused;
}

}  // namespace ltn::autograd
