#include "native/autograd/gradient.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <mutex>
#include <utility>

#include "native/autograd/callback.h"
#include "native/handles/loans.h"

namespace ltn::autograd {
namespace {

using torch::autograd::AutogradMeta;
using torch::autograd::Node;

// Names the mutex of a node, which AccumulateGrad holds while it reads and replaces the gradient of its leaf.
struct NodeMutex : Node {
  static std::mutex& of(Node& node) { return node.*(&NodeMutex::mutex_); }
};

// Lifetime: a frame. Thread: the environment's JS thread.
class GradientLock {
 public:
  explicit GradientLock(const at::Tensor& leaf) {
    if (!handles::Loans::writes_gradients() || Callback::is_running_on_thread()) return;
    auto* const meta = static_cast<AutogradMeta*>(torch::autograd::impl::get_autograd_meta(leaf));
    if (meta == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(meta->mutex_);
      accumulator_ = meta->grad_accumulator_.lock();  // null: no graph leads to this leaf
    }
    if (accumulator_ != nullptr) lock_ = std::unique_lock<std::mutex>(NodeMutex::of(*accumulator_));
  }

 private:
  std::shared_ptr<Node> accumulator_;
  std::unique_lock<std::mutex> lock_;  // released first
};

}  // namespace

at::Tensor gradient_of(const at::Tensor& leaf) {
  const GradientLock lock(leaf);
  return leaf.grad();
}

void set_gradient(const at::Tensor& leaf, at::Tensor gradient) {
  const GradientLock lock(leaf);
  std::swap(leaf.mutable_grad(), gradient);
}

}  // namespace ltn::autograd
