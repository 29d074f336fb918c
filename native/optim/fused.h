// Fused steps: one op of libtorch, from 2.4 on, changes all parameters and their states.
#pragma once

#include <vector>

#include "native/optim/steps.h"

namespace ltn::optim {

// Changes nothing and returns false if the kernel would not take the rows as they are: lib/optim/fused.ts converts or
// refuses them. Runs with c10::InferenceMode on, as step().
bool fused_step(const std::vector<AdamRow>& rows, const AdamOptions& options);

}  // namespace ltn::optim
