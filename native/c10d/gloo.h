// Gloo's process group: c10d's, which can also be ended from outside.
#pragma once

#include <functional>
#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "native/distributed/library.h"

namespace ltn::c10d_addon {

class GlooBackend final : public c10d::ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;

  // Makes all work in progress fail, and closes the connections.
  void end_work() noexcept;

  // Those that libtorch waits for (the Reducer, and what it calls); the waits can be interrupted.
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override;

 private:
  // What makes the works of this group fail. It does not share the group, which a thread of its own could not end.
  std::function<void()> ender();
};

// Blocks until all ranks are connected.
c10::intrusive_ptr<GlooBackend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                          const distributed::GroupOptions& options);

// Whether Gloo has kernels for a dtype.
bool gloo_supports(c10::ScalarType dtype, distributed::Kind kind);

}  // namespace ltn::c10d_addon
