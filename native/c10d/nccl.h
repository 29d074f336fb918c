// NCCL's process group, where libtorch has it.
#pragma once

#include <memory>

#include "native/distributed/library.h"

namespace ltn::c10d_addon {

#ifdef USE_C10D_NCCL
constexpr bool kHasNccl = true;
#else
constexpr bool kHasNccl = false;
#endif

// Throws if !kHasNccl. Owned by the caller: distributed::own_group.
distributed::Group* make_nccl_group(const std::shared_ptr<distributed::Store>& store,
                                    const distributed::GroupOptions& options);

}  // namespace ltn::c10d_addon
