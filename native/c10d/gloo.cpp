// scripts/libtorch.mjs defines USE_C10D_GLOO where the headers of Gloo are those that libtorch was built with.
// PyTorch's wheels contain Gloo without its headers.
#include "native/c10d/gloo.h"

#include <c10/util/Exception.h>

#ifdef USE_C10D_GLOO
#include <gloo/config.h>

#include <cstdlib>
#include <functional>
#include <sstream>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "native/c10d/group.h"
#include "native/c10d/interruption.h"
#include "native/c10d/stores.h"
#include "native/c10d/transport.h"
#endif

namespace ltn::c10d_addon {

#ifdef USE_C10D_GLOO
namespace {

// c10d's, which can also be ended from outside.
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

// Later releases of Gloo tell whether they were built with PyTorch's small types; earlier ones have float16.
#ifdef GLOO_USE_TORCH_DTYPES
constexpr bool kHasHalf = GLOO_USE_TORCH_DTYPES;
constexpr bool kHasBFloat16 = GLOO_USE_TORCH_DTYPES;
#else
constexpr bool kHasHalf = true;
constexpr bool kHasBFloat16 = false;
#endif

// As in PyTorch's Python: GLOO_SOCKET_IFNAME names the network interfaces, separated by commas.
std::vector<std::shared_ptr<::gloo::transport::Device>> devices() {
  std::vector<std::shared_ptr<::gloo::transport::Device>> made;
  const char* const names = std::getenv("GLOO_SOCKET_IFNAME");
  if (names != nullptr && names[0] != '\0') {
    std::istringstream text(names);
    for (std::string name; std::getline(text, name, ',');) {
      made.push_back(checked(c10d::ProcessGroupGloo::createDeviceForInterface(name)));
    }
  } else {
    made.push_back(checked(c10d::ProcessGroupGloo::createDefaultDevice()));
  }
  return made;
}

void GlooBackend::end_work() noexcept {
  for (const auto& context : contexts_) {
    // Gloo has no function for this. But a wait that times out makes every pair of the context fail, and with them all
    // that waits.
    try {
      char byte = 0;
      const auto buffer = context->createUnboundBuffer(&byte, sizeof(byte));
      buffer->waitRecv(nullptr, std::chrono::milliseconds(1));
    } catch (const std::exception&) {  // the timeout, or pairs that have failed before
    }
  }
}

std::function<void()> GlooBackend::ender() {
  return [weak = c10::weak_intrusive_ptr<GlooBackend>(
              c10::intrusive_ptr<GlooBackend>::unsafe_reclaim_from_nonowning(this))] {
    if (const auto self = weak.lock()) self->end_work();
  };
}

c10::intrusive_ptr<c10d::Work> GlooBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                      const c10d::BroadcastOptions& options) {
  return interruptible(ProcessGroupGloo::broadcast(tensors, options), ender());
}

c10::intrusive_ptr<c10d::Work> GlooBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                      const c10d::AllreduceOptions& options) {
  return interruptible(ProcessGroupGloo::allreduce(tensors, options), ender());
}

c10::intrusive_ptr<c10d::Work> GlooBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                      std::vector<at::Tensor>& inputs,
                                                      const c10d::AllgatherOptions& options) {
  return interruptible(ProcessGroupGloo::allgather(outputs, inputs, options), ender());
}

// Whether Gloo has kernels for a dtype.
bool has_kernels(c10::ScalarType dtype, distributed::Kind kind) {
  using distributed::Kind;
  if (kind == Kind::Send || kind == Kind::Recv) return true;  // bytes
  switch (dtype) {
    case c10::ScalarType::Float:
    case c10::ScalarType::Double:
    case c10::ScalarType::Char:
    case c10::ScalarType::Byte:
    case c10::ScalarType::Int:
    case c10::ScalarType::Long:
      return true;
    case c10::ScalarType::Half:
      return kHasHalf;
    case c10::ScalarType::BFloat16:
      return kHasBFloat16;
    default:
      return false;
  }
}

class GlooGroup final : public C10dGroup {
 public:
  GlooGroup(c10::intrusive_ptr<GlooBackend> gloo, const std::shared_ptr<distributed::Store>& store)
      : C10dGroup(std::move(gloo), store, /*is_gloo=*/true) {}
  ~GlooGroup() override { close(); }

  void abort() noexcept override {
    if (const auto gloo = backend()) static_cast<GlooBackend&>(*gloo).end_work();
  }
  bool supports(c10::ScalarType dtype, distributed::Kind kind) const override { return has_kernels(dtype, kind); }
};

}  // namespace

distributed::Group* make_gloo_group(const std::shared_ptr<distributed::Store>& store,
                                    const distributed::GroupOptions& options) {
  auto given = c10d::ProcessGroupGloo::Options::create(options.timeout);
  given->devices = devices();
  given->threads = static_cast<int>(given->devices.size()) * 2;
  const auto& inner = static_cast<const C10dStore&>(*store).c10d();
  auto gloo = c10::make_intrusive<GlooBackend>(inner, options.rank, options.size, std::move(given));
  return new GlooGroup(std::move(gloo), store);
}

#else

distributed::Group* make_gloo_group(const std::shared_ptr<distributed::Store>&, const distributed::GroupOptions&) {
  TORCH_CHECK(false, "expected the backend 'nccl', got 'gloo': this build has no Gloo");
}

#endif

}  // namespace ltn::c10d_addon
