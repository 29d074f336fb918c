#include "native/autograd/anomaly.h"

#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/function.h>

#include <functional>
#include <utility>

#include "native/autograd/callback_queue.h"
#include "native/autograd/engine.h"
#include "native/autograd/node_ptr.h"

namespace ltn::autograd {
namespace {

using torch::autograd::AnomalyMetadata;
using torch::autograd::AnomalyMode;
using torch::autograd::Node;

// State of the JS thread that calls the op or the backward. A node may also be created, or fail, on an engine thread
// while the JS thread waits for that backward.
thread_local std::weak_ptr<Callback> thread_place;
thread_local std::vector<CreatedAt> thread_anomaly;

// Lifetime: the node's. Thread: any.
class Metadata : public AnomalyMetadata {
 public:
  void store_stack() override {
    const auto find = [this] {
      const std::shared_ptr<Callback> place = thread_place.lock();
      if (place == nullptr) return;
      try {
        place->call([&](CallbackFrame &frame) { place_ = frame.text(frame.run()); });
      } catch (const std::exception &) {  // e.g. a stack overflow: the op must not fail because its place is unknown
      }
    };
    on_js_thread(find);
  }

  void print_stack(const std::string &name) override {
    std::vector<CreatedAt> found = {{name, place_}};
    for (const Node *node = parent_.get(); node != nullptr;) {
      const auto *metadata = dynamic_cast<Metadata *>(const_cast<Node *>(node)->metadata());
      if (metadata == nullptr) break;
      found.push_back({node->name(), metadata->place_});
      node = metadata->parent_.get();
    }
    on_js_thread([&] { thread_anomaly = std::move(found); });
  }

  void assign_parent(const NodePtr &parent) override { parent_ = parent; }

 private:
  static void on_js_thread(const std::function<void()> &body) {
    const std::shared_ptr<CallbackQueue> queue = CallbackQueue::of_backward();
    if (queue == nullptr || !queue->request(body)) body();
  }

  std::string place_;
  NodePtr parent_;
};

std::unique_ptr<AnomalyMetadata> make_metadata() { return std::make_unique<Metadata>(); }

}  // namespace

void set_anomaly_detection(bool enabled, bool check_nan) {
  if (enabled) Engine::install(&make_metadata);
  AnomalyMode::set_enabled(enabled, check_nan);
}

bool is_anomaly_detection_enabled() noexcept { return AnomalyMode::is_enabled(); }
bool is_anomaly_nan_checked() noexcept { return AnomalyMode::should_check_nan(); }

void set_place(const std::shared_ptr<Callback> &place) { thread_place = place; }

std::vector<CreatedAt> take_anomaly() { return std::exchange(thread_anomaly, {}); }

}  // namespace ltn::autograd
