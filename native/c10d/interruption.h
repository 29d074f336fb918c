// Waits on the JavaScript thread of a worker, which end when the worker is terminated. libtorch's own cannot be ended.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "native/distributed/library.h"

namespace ltn::c10d_addon {

// What a wait that was interrupted throws.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : runtime_error("the worker was terminated") {}
};

// Called once, before anything waits.
void set_interrupts(const distributed::Interrupts& interrupts) noexcept;

// Whether an interrupt has come on this thread. Any thread.
bool is_interrupted() noexcept;

// Waits for the end of the work, and throws its failure. On a thread where interrupts apply and one comes, calls `end`,
// which makes the work fail, and throws. Any thread.
void wait_for(c10d::Work& work, const std::function<void()>& end);

// On a thread where interrupts apply: a work whose wait() is wait_for(). If a backward runs on this thread, the work is
// waited for at its end, before the Reducer waits for its future, which knows no interrupts. Elsewhere the work itself.
c10::intrusive_ptr<c10d::Work> interruptible(c10::intrusive_ptr<c10d::Work> work, std::function<void()> end);

// While one exists, its thread starts works that it does not wait for, or waits for by wait_for(). Thread: its own.
class NotWaitedFor {
 public:
  NotWaitedFor() noexcept;
  ~NotWaitedFor();
  NotWaitedFor(const NotWaitedFor&) = delete;
  NotWaitedFor& operator=(const NotWaitedFor&) = delete;

 private:
  const bool outer_;
};

}  // namespace ltn::c10d_addon
