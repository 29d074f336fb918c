#include "native/c10d/gloo.h"

#include <gloo/config.h>

#include <cstdlib>
#include <sstream>

#include "native/c10d/interruption.h"
#include "native/c10d/transport.h"

namespace ltn::c10d_addon {
namespace {

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

}  // namespace

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

c10::intrusive_ptr<GlooBackend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                          const distributed::GroupOptions& options) {
  auto given = c10d::ProcessGroupGloo::Options::create(options.timeout);
  given->devices = devices();
  given->threads = static_cast<int>(given->devices.size()) * 2;
  return c10::make_intrusive<GlooBackend>(store, options.rank, options.size, std::move(given));
}

bool gloo_supports(c10::ScalarType dtype, distributed::Kind kind) {
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

}  // namespace ltn::c10d_addon
