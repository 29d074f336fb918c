// The arguments of a recorded op, as boxed values of its step.
#pragma once

#include "native/async/step.h"
#include "native/convert/call.h"

namespace ltn {

// Converts the arguments of the call. Throws BadArgument, PendingTensor, and CodedError for a type that no op is known
// to take.
void read_arguments(Call& call, async::OpStep& step);

}  // namespace ltn
