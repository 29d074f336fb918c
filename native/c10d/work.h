// A work of c10d behind the interface of native/distributed/library.h.
#pragma once

#include <memory>

#include "native/c10d/collectives.h"
#include "native/distributed/library.h"

namespace ltn::c10d_addon {

// Lifetime: shared by the job that waits for it. It shares the tensors of the collective and, through c10d's work,
// whatever that needs; never the group. Thread: any.
class C10dWork final : public distributed::Work {
 public:
  C10dWork(Launched launched, distributed::Collective collective)
      : work_(std::move(launched.work)), finish_(std::move(launched.finish)), collective_(std::move(collective)) {}

  bool on_end(std::function<void(std::exception_ptr)> done) override;
  void wait() override;
  void cancel() noexcept override;
  int64_t source() const override { return collective_.kind == distributed::Kind::Recv ? work_->sourceRank() : -1; }

 private:
  bool is_point_to_point() const noexcept {
    return collective_.kind == distributed::Kind::Send || collective_.kind == distributed::Kind::Recv;
  }

  const c10::intrusive_ptr<c10d::Work> work_;
  const std::function<void()> finish_;
  const distributed::Collective collective_;  // its tensors
};

// Timeouts among the exceptions of c10d and of Gloo, which have no common class.
distributed::Failure failure_of(std::exception_ptr error);

}  // namespace ltn::c10d_addon
