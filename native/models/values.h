// Conversion of TorchScript values from and to JavaScript, through a flat list: a tag and its data, then the next
// value. lib/jit/values.ts writes and reads it, so nesting needs no recursion across the boundary, and tensors are
// handles.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include "native/convert/call.h"
#include "native/models/model.h"

namespace ltn::models {

// In brackets: the data after each tag. Containers are followed by their number of values, a Dict by twice as many.
enum class Tag {
  None,
  False,
  True,
  Number,   // [number]
  BigInt,   // [bigint]
  Text,     // [string]
  Tensor,   // [handle]; 0 for an undefined tensor
  List,     // [length]
  Dict,     // [length]; to JavaScript [length, whether the keys are strings]
  Complex,  // [re, im]
  Named,    // [length, names]: a named tuple, to JavaScript only
  Omitted,  // an argument that JavaScript passed as undefined: its default
};

// An argument that is the result of an earlier step: its index among the arguments, and the code of the result.
struct PendingArgument {
  size_t index;
  double code;
};

// The tensors among the arguments of a call.
struct FoundTensors {
  std::vector<handles::Handle> handles;
  std::vector<PendingArgument> pending;
};

// The values of `list` as arguments of `method`, with the schema's defaults for missing ones. `call` is the method's:
// errors name its arguments. A pending tensor may be an argument, but not inside one.
torch::jit::Stack read_arguments(Call& call, napi_value list, const Method& method, FoundTensors* found);

// The flat list of a value. Throws CodedError for values without a JavaScript equivalent, for a value that contains
// itself and for one that is too large, before any handle is created.
napi_value write_value(Call& call, const c10::IValue& value);

// Limits of one argument list or result.
constexpr size_t kMaxValues = size_t{1} << 20;
constexpr int kMaxDepth = 200;

}  // namespace ltn::models
