// Batch normalization over all ranks behind the interface of native/distributed/batch_norm.h.
#pragma once

#include "native/distributed/batch_norm.h"

namespace ltn::c10d_addon {

distributed::BatchNorm batch_norm;

}  // namespace ltn::c10d_addon
