// Recording of ops, to run later on a pool thread: the alternative to native/ops/invoke.h.
#pragma once

#include "native/async/step.h"
#include "native/convert/call.h"

namespace ltn {

// Whether the op of this call is to be recorded instead of run. (Flags::recording is not kOff.)
bool is_recorded(Call& call);
// Records it. Returns a placeholder for the result: a tensor's code in place of its handle.
napi_value record(Call& call);
// Throws ERR_TORCH_CAPTURE if the ops are recorded for torch.capture and a replay would leave this call out.
void require_capturable(Call& call);
// Throws if the call reads a property of an existing tensor that earlier recorded steps will change.
void require_up_to_date(Call& call);
// The result of a step that has run, in the form the op itself would return.
napi_value take_result(Call& call, async::Step& step);

}  // namespace ltn
