// Gloo's process group: c10d's, which can also be ended from outside.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "native/distributed/library.h"

namespace ltn::c10d_addon {

class GlooBackend final : public c10d::ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;

  // Makes all work in progress fail, and closes the connections.
  void end_work() noexcept;
};

// Blocks until all ranks are connected.
c10::intrusive_ptr<GlooBackend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                          const distributed::GroupOptions& options);

// Whether Gloo has kernels for a dtype.
bool gloo_supports(c10::ScalarType dtype, distributed::Kind kind);

}  // namespace ltn::c10d_addon
