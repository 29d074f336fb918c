// What can be said of results before they are there: shapes and dtypes, worked out on tensors without elements.
#pragma once

#include <string>

#include "native/async/strand.h"

namespace ltn::async {

// Fills `shadows` of a step that is not the strand's yet, and of those that were recorded before it. True where its
// result is a list that is known to have no tensors.
bool find_shadows(Strand& strand, Step& step);

// The result, where it is there, or its shadow; an undefined tensor where nothing is known.
at::Tensor shadow_of(Strand& strand, double code);

// Where it will be; "" where that is not known.
std::string device_of(Strand& strand, double code);

}  // namespace ltn::async
