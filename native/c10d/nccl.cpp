// scripts/libtorch.mjs defines USE_C10D_NCCL where libtorch has NCCL. That part ran with libtorch 2.11 and NCCL 2.28 on
// one GPU (docs/cuda.md). For 1.13, 2.6 and 2.14 it was only compiled.
#include "native/c10d/nccl.h"

#include <c10/util/Exception.h>

#ifdef USE_C10D_NCCL
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

#include "native/c10d/collectives.h"
#include "native/c10d/group.h"
#include "native/c10d/interruption.h"
#include "native/c10d/stores.h"
#endif

namespace ltn::c10d_addon {

#ifdef USE_C10D_NCCL
namespace {

using c10d::ProcessGroupNCCL;
using distributed::Collective;

// How long a wait lasts before it asks the GPU again.
constexpr std::chrono::milliseconds kNcclPause(1);

// c10d's future is complete as soon as the collective is queued on the GPU, so the job waits for its end instead.
class NcclWork final : public distributed::Work {
 public:
  NcclWork(Launched launched, Collective collective, distributed::Milliseconds of_group)
      : work_(std::move(launched.work)),
        finish_(std::move(launched.finish)),
        collective_(std::move(collective)),
        timeout_(collective_.timeout.count() < 0 ? of_group : collective_.timeout) {}

  bool on_end(std::function<void(std::exception_ptr)>) override { return false; }
  void wait() override {
    const auto start = std::chrono::steady_clock::now();
    while (!work_->isCompleted()) {
      if (std::chrono::steady_clock::now() - start >= timeout_) {
        throw std::runtime_error("timed out after " + std::to_string(timeout_.count()) + " ms");
      }
      if (is_interrupted()) throw Interrupted();
      std::this_thread::sleep_for(kNcclPause);
    }
    if (const std::exception_ptr error = work_->exception()) std::rethrow_exception(error);
    work_->wait();  // the current stream follows NCCL's
    if (finish_) finish_();
  }
  void cancel() noexcept override {}
  int64_t source() const override { return collective_.kind == distributed::Kind::Recv ? collective_.root : -1; }

 private:
  const c10::intrusive_ptr<c10d::Work> work_;
  const std::function<void()> finish_;
  const Collective collective_;  // its tensors
  const distributed::Milliseconds timeout_;
};

// Releases before 2.0 end what waits only by their own timeouts.
template <class Group>
auto abort_work(Group& group, int) -> decltype(static_cast<void>(group.abort())) {
  group.abort();
}
template <class Group>
void abort_work(Group&, long) {}

class NcclGroup final : public C10dGroup {
 public:
  NcclGroup(c10::intrusive_ptr<ProcessGroupNCCL> nccl, const std::shared_ptr<distributed::Store>& store,
            distributed::Milliseconds timeout)
      : C10dGroup(std::move(nccl), store, /*is_gloo=*/false), timeout_(timeout) {}
  ~NcclGroup() override { close(); }

  std::shared_ptr<distributed::Work> start(Collective collective) override {
    const auto now = backend();
    TORCH_CHECK(now != nullptr, "the process group was destroyed");
    Launched launched = launch(*now, collective);
    return std::make_shared<NcclWork>(std::move(launched), std::move(collective), timeout_);
  }
  void abort() noexcept override {
    const auto now = backend();
    if (now == nullptr) return;
    try {
      abort_work(static_cast<ProcessGroupNCCL&>(*now), 0);
    } catch (const std::exception&) {  // what has failed before
    }
  }
  bool supports(c10::ScalarType dtype, distributed::Kind) const override {
    switch (dtype) {
      case c10::ScalarType::Float:
      case c10::ScalarType::Double:
      case c10::ScalarType::Half:
      case c10::ScalarType::BFloat16:
      case c10::ScalarType::Char:
      case c10::ScalarType::Byte:
      case c10::ScalarType::Int:
      case c10::ScalarType::Long:
      case c10::ScalarType::Bool:
        return true;
      default:
        return false;
    }
  }

 private:
  const distributed::Milliseconds timeout_;
};

}  // namespace

distributed::Group* make_nccl_group(const std::shared_ptr<distributed::Store>& store,
                                    const distributed::GroupOptions& options) {
  auto given = ProcessGroupNCCL::Options::create();
  given->timeout = options.timeout;
  const auto& inner = static_cast<const C10dStore&>(*store).c10d();
  auto nccl = c10::make_intrusive<ProcessGroupNCCL>(inner, options.rank, options.size, std::move(given));
  return new NcclGroup(std::move(nccl), store, options.timeout);
}

#else

distributed::Group* make_nccl_group(const std::shared_ptr<distributed::Store>&, const distributed::GroupOptions&) {
  TORCH_CHECK(false, "expected the backend 'gloo', got 'nccl': this build has no NCCL");
}

#endif

}  // namespace ltn::c10d_addon
