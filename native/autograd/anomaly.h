// Anomaly detection: for the node that failed in a backward, where its op was called.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "native/autograd/callback.h"

namespace ltn::autograd {

// A node of the graph, and the place in the program where it was created; empty if unknown.
struct CreatedAt {
  std::string node;
  std::string place;
};

// Process-wide, as in libtorch.
void set_anomaly_detection(bool enabled, bool check_nan);
bool is_anomaly_detection_enabled() noexcept;
bool is_anomaly_nan_checked() noexcept;

// Sets the function that returns the current place in the code of this thread. It is called when a node is created
// while detection is on. Whoever holds the pointer owns it.
void set_place(const std::shared_ptr<Callback> &place);

// The node in which the last backward of this thread failed, and the nodes whose backward created it, if any.
std::vector<CreatedAt> take_anomaly();

}  // namespace ltn::autograd
