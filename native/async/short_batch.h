// Batches that take less time than it takes to wake a thread.
#pragma once

#include "native/async/batch.h"

namespace ltn::async {

// Whether the steps are a few ops whose time follows from the number of elements, on few elements: the JS thread may
// run them where they are submitted. False for ops that write to their arguments. Call it while the batch belongs to
// the JS thread.
bool is_short(const Batch& batch);

}  // namespace ltn::async
