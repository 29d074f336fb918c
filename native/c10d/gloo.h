// Gloo's process group, where libtorch has it and Gloo's headers are there.
#pragma once

#include <memory>

#include "native/distributed/library.h"

namespace ltn::c10d_addon {

#ifdef USE_C10D_GLOO
constexpr bool kHasGloo = true;
#else
constexpr bool kHasGloo = false;
#endif

// Blocks until all ranks are connected. Throws if !kHasGloo. Owned by the caller: distributed::own_group.
distributed::Group* make_gloo_group(const std::shared_ptr<distributed::Store>& store,
                                    const distributed::GroupOptions& options);

}  // namespace ltn::c10d_addon
