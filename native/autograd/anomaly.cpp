#include "native/autograd/anomaly.h"

#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>

#include <utility>

#include "native/autograd/node_ptr.h"

namespace ltn::autograd {
namespace {

using torch::autograd::AnomalyMetadata;
using torch::autograd::AnomalyMode;
using torch::autograd::Node;

// Per-thread state: a node is created, and fails, on the thread that runs the op or the backward.
thread_local std::weak_ptr<Callback> thread_place;
thread_local std::vector<CreatedAt> thread_anomaly;

// Lifetime: the node's. Thread: any.
class Metadata : public AnomalyMetadata {
 public:
  void store_stack() override {
    const std::shared_ptr<Callback> place = thread_place.lock();
    if (place == nullptr) return;
    try {
      place->call([&](CallbackFrame &frame) { place_ = frame.text(frame.run()); });
    } catch (const std::exception &) {  // e.g. a stack overflow: the op must not
                                        // fail because its place is unknown
    }
  }

  void print_stack(const std::string &name) override {
    thread_anomaly = {{name, place_}};
    for (const Node *node = parent_.get(); node != nullptr;) {
      const auto *metadata = dynamic_cast<Metadata *>(const_cast<Node *>(node)->metadata());
      if (metadata == nullptr) return;
      thread_anomaly.push_back({node->name(), metadata->place_});
      node = metadata->parent_.get();
    }
  }

  void assign_parent(const NodePtr &parent) override { parent_ = parent; }

 private:
  std::string place_;
  NodePtr parent_;
};

// The engine creates the metadata of nodes; nothing else differs here.
class PlaceEngine : public torch::autograd::Engine {
 public:
  std::unique_ptr<AnomalyMetadata> make_anomaly_metadata() override { return std::make_unique<Metadata>(); }
};

// Never freed: its threads may be running when the process ends.
torch::autograd::Engine &process_engine() {
  static PlaceEngine &engine = *new PlaceEngine;
  return engine;
}

}  // namespace

void set_anomaly_detection(bool enabled, bool check_nan) {
  if (enabled) torch::autograd::set_default_engine_stub(&process_engine);
  AnomalyMode::set_enabled(enabled, check_nan);
}

bool is_anomaly_detection_enabled() noexcept { return AnomalyMode::is_enabled(); }
bool is_anomaly_nan_checked() noexcept { return AnomalyMode::should_check_nan(); }

void set_place(const std::shared_ptr<Callback> &place) { thread_place = place; }

std::vector<CreatedAt> take_anomaly() { return std::exchange(thread_anomaly, {}); }

}  // namespace ltn::autograd
