#include "native/c10d/interruption.h"

#include <c10/util/Exception.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>

#include <utility>

namespace ltn::c10d_addon {
namespace {

// How long a wait lasts before it asks whether it was interrupted.
constexpr std::chrono::milliseconds kPause(50);

distributed::Interrupts process_interrupts{};  // written when the second addon is loaded, before its first use
thread_local bool is_not_waited_for = false;

bool can_be_interrupted() noexcept { return process_interrupts.apply != nullptr && process_interrupts.apply(); }

// Lifetime: shared by whoever waits. Thread: any.
class InterruptibleWork final : public c10d::Work {
 public:
  InterruptibleWork(c10::intrusive_ptr<c10d::Work> work, std::function<void()> end)
      : Work(-1, work->retrieveOpType()), work_(std::move(work)), end_(std::move(end)) {}

  bool isCompleted() override { return work_->isCompleted(); }
  bool isSuccess() const override { return work_->isSuccess(); }
  std::exception_ptr exception() const override { return work_->exception(); }
  std::vector<at::Tensor> result() override { return work_->result(); }
  void synchronize() override { work_->synchronize(); }
  void abort() override { work_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return work_->getFuture(); }
  bool wait(std::chrono::milliseconds timeout) override {
    if (timeout != kNoTimeout) return work_->wait(timeout);
    wait_for(*work_, end_);
    return true;
  }

 private:
  const c10::intrusive_ptr<c10d::Work> work_;
  const std::function<void()> end_;
};

}  // namespace

void set_interrupts(const distributed::Interrupts& interrupts) noexcept { process_interrupts = interrupts; }

bool is_interrupted() noexcept { return can_be_interrupted() && process_interrupts.requested(); }

void wait_for(c10d::Work& work, const std::function<void()>& end) {
  if (!can_be_interrupted()) {
    work.wait();
    return;
  }
  for (;;) {
    try {
      work.wait(kPause);
      return;
    } catch (const c10::Error&) {  // its failure, or that it has not ended yet
      if (work.isCompleted()) {
        work.wait();  // throws its failure, which may have come since
        return;
      }
    }
    if (!is_interrupted()) continue;
    end();
    throw Interrupted();
  }
}

c10::intrusive_ptr<c10d::Work> interruptible(c10::intrusive_ptr<c10d::Work> work, std::function<void()> end) {
  if (is_not_waited_for || !can_be_interrupted()) return work;
  // Callbacks run in the order of their registration, and the Reducer's comes after its last collective was started.
  if (torch::autograd::get_current_graph_task_exec_info() != nullptr) {
    torch::autograd::Engine::get_default_engine().queue_callback([work, end] { wait_for(*work, end); });
  }
  return c10::make_intrusive<InterruptibleWork>(std::move(work), std::move(end));
}

NotWaitedFor::NotWaitedFor() noexcept : outer_(std::exchange(is_not_waited_for, true)) {}
NotWaitedFor::~NotWaitedFor() { is_not_waited_for = outer_; }

}  // namespace ltn::c10d_addon
