// Ops that are recorded, to run later on a thread of the pool: the other way of a call than native/invoke.h.
#pragma once

#include "native/async/step.h"
#include "native/convert/call.h"

namespace ltn {

// Whether the op of this call is recorded now, and not run. (Flags::recording is not kOff.)
bool is_recorded(Call& call);
// Records it. What goes back stands for the result: the code of a tensor where its handle would stand.
napi_value record(Call& call);
// Throws where what a call reads of a tensor that is there will be changed by steps that were recorded before.
void require_up_to_date(Call& call);
// The result of a step that has run, as the op itself would have given it.
napi_value take_result(Call& call, async::Step& step);

}  // namespace ltn
