// What differs between releases of c10d.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <type_traits>
#include <utility>
#ifdef USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace ltn::c10d_addon {

#ifdef USE_C10D_GLOO
using AnyGroup = c10d::ProcessGroupGloo;
#else
using AnyGroup = c10d::ProcessGroupNCCL;
#endif

// From 2.0 on, a ProcessGroup holds one Backend for each type of device. Before, each ProcessGroup was a backend.
constexpr bool kGroupsAreBackends = std::is_base_of_v<c10d::ProcessGroup, AnyGroup>;
using Backend = std::conditional_t<kGroupsAreBackends, c10d::ProcessGroup, c10d::Backend>;

// Until the number of collectives that a group has started began at 0 on every rank, the ranks had to agree on it.
constexpr bool kGroupsSetSequenceNumber =
    std::is_same_v<decltype(&AnyGroup::setSequenceNumberForGroup), void (AnyGroup::*)()>;

// A template, so that the branch of other releases is not compiled.
template <class Given, class Group = c10d::ProcessGroup>
c10::intrusive_ptr<Group> as_process_group(const c10::intrusive_ptr<Given>& backend,
                                           const c10::intrusive_ptr<c10d::Store>& store, bool is_gloo) {
  if constexpr (std::is_base_of_v<Group, Given>) {
    return backend;
  } else {
    auto group = c10::make_intrusive<Group>(store, backend->getRank(), backend->getSize());
    const auto type = is_gloo ? Group::BackendType::GLOO : Group::BackendType::NCCL;
    group->setBackend(is_gloo ? c10::DeviceType::CPU : c10::DeviceType::CUDA, type, backend);
    group->setDefaultBackend(type);
    return group;
  }
}

// Chooses the TCPStore without libuv, which works together with those with it. False if it is chosen already, or if the
// release has only one.
template <class Options>
auto disable_libuv(Options& options, int) -> decltype(options.useLibUV, bool()) {
  return std::exchange(options.useLibUV, false);
}
template <class Options>
bool disable_libuv(Options&, long) {
  return false;
}

}  // namespace ltn::c10d_addon
