// Batches that take less time than it takes to wake a thread.
#pragma once

#include <string>
#include <vector>

#include "native/async/batch.h"

namespace ltn::async {

// Whether the steps are a few ops whose time follows from the number of elements, on few elements: the JS thread may
// run them where they are submitted. False for ops that write to their arguments. Call it while the batch belongs to
// the JS thread.
bool is_short(const Batch& batch);

enum class ShortKind {
  Other,
  Pointwise,  // its result has the shape to which its tensors are broadcast
  Whole,      // its result has one element
};

// The names of the ops of a kind, without "aten::" and the overload.
std::vector<std::string> short_ops(ShortKind kind);

// The elements that a short op of these tensors works on; 0 if a call with them is not short.
int64_t short_elements(ShortKind kind, const std::vector<const at::Tensor*>& tensors);

}  // namespace ltn::async
