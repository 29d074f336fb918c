// Shapes and dtypes of results before they are computed, inferred on tensors of the meta device.
#pragma once

#include <string>

#include "native/async/strand.h"

namespace ltn::async {

// The tensor's shape, strides and dtype on the meta device; undefined if it is not a plain one.
at::Tensor meta_of(const at::Tensor& tensor);

// Fills `metas` of a step that is not in the strand yet, and of those recorded before it. Returns whether the result is
// a list known to be empty.
bool infer_metas(Strand& strand, Step& step);

// The result if it is computed, otherwise its meta tensor; undefined if nothing is known.
at::Tensor result_meta(Strand& strand, double code);

// Why the shape is unknown: what an op that the result depends on says of the shapes of its arguments; "" if nothing.
std::string refusal_of(Strand& strand, double code);

// Whether the dtype of result_meta() is the result's. Autocast decides by the device, and does not act on the meta
// device.
bool is_dtype_known(Strand& strand, double code);

// The device of the result; "" if unknown.
std::string device_of(Strand& strand, double code);

}  // namespace ltn::async
