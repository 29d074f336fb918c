// Anomaly detection: of the node that failed in a backward, where its op was
// called.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "native/autograd/callback.h"

namespace ltn::autograd {

// A node of the graph, and the place in the program where it was made; empty
// where that is not known.
struct MadeAt {
  std::string node;
  std::string place;
};

// For the process, as libtorch has it.
void set_anomaly_detection(bool enabled, bool check_nan);
bool is_anomaly_detection_enabled() noexcept;
bool is_anomaly_nan_checked() noexcept;

// What says where the code of this thread is: called when a node is made while
// detection is on. Its owner is whoever holds the pointer.
void set_place(const std::shared_ptr<Callback> &place);

// The node in which the last backward of this thread failed, and the nodes
// whose backward made it, if any.
std::vector<MadeAt> take_anomaly();

}  // namespace ltn::autograd
