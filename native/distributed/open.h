// Loads the second addon.
#pragma once

#include <string>

#include "native/distributed/library.h"

namespace ltn::distributed {

// Loads it at the first call, for the process. Throws CodedError ERR_TORCH_DISTRIBUTED if that is not possible. Any
// thread.
const Library& open_library(const std::string& file, const Interrupts& interrupts);

// The loaded one. Throws CodedError if there is none.
const Library& library();

}  // namespace ltn::distributed
