// Values of TorchScript from and to JavaScript. In between stands a flat list: a tag and what belongs to it, then the
// next value. lib/jit/values.ts writes and reads it, so nesting costs neither side a stack, and tensors are handles.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include "native/convert/call.h"
#include "native/models/model.h"

namespace ltn::models {

// What follows each is in brackets. Containers are followed by as many values as they say, a Dict by twice as many.
enum class Tag {
  None,
  False,
  True,
  Number,   // [number]
  BigInt,   // [bigint]
  Text,     // [string]
  Tensor,   // [handle]; of a tensor that is undefined 0
  List,     // [length]
  Dict,     // [length]; to JavaScript [length, whether the keys are strings]
  Complex,  // [re, im]
  Named,    // [length, names]: a named tuple, to JavaScript alone
};

// An argument that a step before will give: its place among the arguments, and the code of the result.
struct PendingArgument {
  size_t index;
  double code;
};

// The tensors that were found among the arguments of a call.
struct FoundTensors {
  std::vector<handles::Handle> handles;
  std::vector<PendingArgument> pending;
};

// The values of `list` as arguments of `method`, with the schema's defaults for what is missing. `call` is the
// method's: errors name its arguments. A pending tensor may be an argument, but not inside one.
torch::jit::Stack read_arguments(Call& call, napi_value list, const Method& method, FoundTensors* found);

// The flat list of a value. Throws CodedError for what JavaScript has no value for, for a value inside itself and for
// one that is too large, before any handle is made.
napi_value write_value(Call& call, const c10::IValue& value);

// Values in one argument list or result.
constexpr size_t kMaxValues = size_t{1} << 20;
constexpr int kDeepest = 200;

}  // namespace ltn::models
