// The layer of an LSTM in oneDNN and its gradient (libtorch 2), which `lstm` calls inside: replaced by kernels that
// check their arguments.
#pragma once

#include <torch/library.h>

namespace ltn {

// Replaces them in the libraries of kernels for the CPU and for oneDNN's layout. Does nothing where libtorch does not
// have them.
void replace_lstm(torch::Library& cpu, torch::Library& mkldnn);

}  // namespace ltn
