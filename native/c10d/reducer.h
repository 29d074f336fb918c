// c10d's Reducer behind the interface of native/distributed/reducer.h.
#pragma once

#include <memory>
#include <vector>

#include "native/distributed/library.h"
#include "native/distributed/reducer.h"

namespace ltn::c10d_addon {

// Compares the parameters with those of rank 0, and installs the hooks. Blocks until all ranks have called it. Throws
// if the parameters differ.
std::unique_ptr<distributed::Reducer> make_reducer(const distributed::Group& group,
                                                   const distributed::ReducerOptions& options);

// Compares number, dtypes, shapes and strides of the parameters with those of rank 0. Blocks, as above.
void verify_parameters(const distributed::Group& group, const std::vector<at::Tensor>& parameters);

// Overwrites the tensors with those of rank `root` of the group, in as few messages as fit. Blocks, as above.
void broadcast_coalesced(const distributed::Group& group, const std::vector<at::Tensor>& tensors, int root);

}  // namespace ltn::c10d_addon
