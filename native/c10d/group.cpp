#include "native/c10d/group.h"

#include <c10/util/Exception.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "native/c10d/collectives.h"
#include "native/c10d/gloo.h"
#include "native/c10d/interruption.h"
#include "native/c10d/nccl.h"
#include "native/c10d/release.h"
#include "native/c10d/stores.h"
#include "native/c10d/work.h"

namespace ltn::c10d_addon {
namespace {

using distributed::Collective;
using distributed::Kind;

// c10d's monitored barrier blocks, so it begins where the job waits for it.
class BlockingBarrier final : public distributed::Work {
 public:
  BlockingBarrier(c10::intrusive_ptr<Backend> backend, const Collective& collective)
      : backend_(std::move(backend)), all_ranks_(collective.all_ranks) {
    options_.timeout = collective.timeout;
  }
  bool on_end(std::function<void(std::exception_ptr)>) override { return false; }
  void wait() override {
    const auto backend = std::exchange(backend_, {});
    const auto start = std::chrono::steady_clock::now();
    try {
      backend->monitoredBarrier(options_, all_ranks_);
    } catch (const c10::Error& error) {
      // Its message is the same for a rank that is late and for one that has ended.
      if (std::chrono::steady_clock::now() - start < options_.timeout) throw;
      throw std::runtime_error(std::string("timed out: ") + error.what_without_backtrace());
    }
  }
  void cancel() noexcept override {}
  int64_t source() const override { return -1; }

 private:
  c10::intrusive_ptr<Backend> backend_;  // until wait()
  const bool all_ranks_;
  c10d::BarrierOptions options_;
};

}  // namespace

C10dGroup::C10dGroup(c10::intrusive_ptr<Backend> backend, const std::shared_ptr<distributed::Store>& store,
                     bool is_gloo)
    : backend_(std::move(backend)), store_(store), size_(backend_->getSize()), is_gloo_(is_gloo) {}

c10::intrusive_ptr<Backend> C10dGroup::backend() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return backend_;
}

std::shared_ptr<distributed::Work> C10dGroup::start(Collective collective) {
  const auto now = backend();
  TORCH_CHECK(now != nullptr, "the process group was destroyed");
  if (collective.kind == Kind::MonitoredBarrier) return std::make_shared<BlockingBarrier>(now, collective);
  const NotWaitedFor starting;
  Launched launched = launch(*now, collective);
  return std::make_shared<C10dWork>(std::move(launched), std::move(collective));
}

void C10dGroup::set_sequence_number() {
  const auto now = backend();
  TORCH_CHECK(now != nullptr, "the process group was destroyed");
  if constexpr (kGroupsSetSequenceNumber) now->setSequenceNumberForGroup();
}

void C10dGroup::close() noexcept {
  abort();
  c10::intrusive_ptr<Backend> ended;
  c10::intrusive_ptr<c10d::ProcessGroup> wrapper;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended.swap(backend_);
    wrapper.swap(process_group_);
  }
  // Here its threads end, unless a Reducer still has the process group.
}

c10::intrusive_ptr<c10d::ProcessGroup> C10dGroup::process_group() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(backend_ != nullptr, "the process group was destroyed");
  if (process_group_ == nullptr) {
    process_group_ = as_process_group(backend_, static_cast<const C10dStore&>(*store_).c10d(), is_gloo_);
  }
  return process_group_;
}

distributed::Group* make_group(const std::shared_ptr<distributed::Store>& store,
                               const distributed::GroupOptions& options) {
  if (options.backend == "nccl") return make_nccl_group(store, options);
  TORCH_CHECK(options.backend == "gloo", "expected the backend 'gloo', got '", options.backend, "'");
  return make_gloo_group(store, options);
}

}  // namespace ltn::c10d_addon
