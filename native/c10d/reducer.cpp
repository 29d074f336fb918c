#include "native/c10d/reducer.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "native/c10d/group.h"

namespace ltn::c10d_addon {
namespace {

// PyTorch's in nn/parallel/distributed.py: all ranks must use the same.
constexpr size_t kBroadcastBytes = size_t{250} << 20;

using Buckets = std::vector<std::vector<size_t>>;

struct BucketSizes {
  int64_t cap = c10d::kDefaultBucketBytesCap;
  int64_t first = c10d::kDefaultFirstBucketBytes;
};

// The first bucket is smaller, so that communication begins early. From 2.x on, not if the program has set the size.
BucketSizes sizes_of(const distributed::ReducerOptions& options) {
  BucketSizes sizes;
  if (!options.bucket_bytes.has_value()) return sizes;
  sizes.cap = *options.bucket_bytes;
#ifdef LTN_HAS_C10D_BACKENDS
  sizes.first = sizes.cap;
#endif
  return sizes;
}

std::vector<size_t> initial_limits(const distributed::ReducerOptions& options, const BucketSizes& sizes) {
  // One bucket until the order in which gradients become ready is known.
  if (options.static_graph || !options.find_unused) {
    return {static_cast<size_t>(std::numeric_limits<int64_t>::max())};
  }
  const auto cap = static_cast<size_t>(sizes.cap), first = static_cast<size_t>(sizes.first);
#ifdef LTN_HAS_C10D_BACKENDS
  if (options.bucket_bytes.has_value()) return {cap};
#endif
  return {first, cap};
}

std::unordered_map<size_t, std::string> names_of(const distributed::ReducerOptions& options) {
  std::unordered_map<size_t, std::string> names;
  for (size_t i = 0; i < options.names.size(); ++i) names.emplace(i, options.names[i]);
  return names;
}

// The constructor differs between releases.
std::shared_ptr<c10d::Reducer> new_reducer(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                           const distributed::ReducerOptions& options) {
  const BucketSizes sizes = sizes_of(options);
  auto [buckets, limits] =
      c10d::compute_bucket_assignment_by_size(options.parameters, initial_limits(options, sizes), options.sparse);
  // Gradients become ready roughly in the opposite order of the parameters.
  std::reverse(buckets.begin(), buckets.end());
  std::reverse(limits.begin(), limits.end());
#ifdef LTN_HAS_REDUCER_BUCKET_LIST
  return std::make_shared<c10d::Reducer>(
      options.parameters, std::move(buckets), group, options.sparse, sizes.cap, options.find_unused,
      options.gradient_as_bucket_view, names_of(options), sizes.first, /*skip_all_reduce_unused_params=*/false,
      /*use_python_reducer=*/false, std::vector<int64_t>());
#else
  return std::make_shared<c10d::Reducer>(options.parameters, std::move(buckets), std::move(limits), group,
                                         options.sparse, sizes.cap, options.find_unused,
                                         options.gradient_as_bucket_view, names_of(options), sizes.first);
#endif
}

// Whether the all-reduce of the first backward on a static graph was postponed to its end. Lifetime: shared by the
// reducer and the graphs of its outputs.
struct SinkState : torch::CustomClassHolder {
  std::weak_ptr<c10d::Reducer> reducer;
  bool postpones = false;
};

// Passes the outputs on as copies. If the loss depends on some of them, the gradients of the others arrive undefined, and
// the reducer learns that the parameters behind them are unused.
struct Sink : torch::autograd::Function<Sink> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const c10::intrusive_ptr<SinkState>& state,
                                                torch::autograd::variable_list outputs) {
    context->set_materialize_grads(false);
    context->saved_data["state"] = c10::IValue::make_capsule(state);
    for (at::Tensor& output : outputs) output = output.clone();
    return outputs;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto state = c10::static_intrusive_pointer_cast<SinkState>(context->saved_data["state"].toCapsule());
    if (state->postpones) {
      state->postpones = false;
      torch::autograd::Engine::get_default_engine().queue_callback([weak = state->reducer] {
        if (const auto reducer = weak.lock()) reducer->delay_all_reduce();
      });
    }
    gradients.insert(gradients.begin(), at::Tensor());  // of the state
    return gradients;
  }
};

class C10dReducer final : public distributed::Reducer {
 public:
  C10dReducer(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const distributed::ReducerOptions& options)
      : sink_(c10::make_intrusive<SinkState>()), reducer_(new_reducer(group, options)) {
    for (const at::Tensor& parameter : options.parameters) bytes_ += static_cast<int64_t>(parameter.nbytes());
    sink_->reducer = reducer_;
    if (!options.static_graph) return;
    reducer_->set_static_graph();
    sink_->postpones = true;
  }

  void prepare_for_forward() override { reducer_->prepare_for_forward(); }
  void rebuild_buckets() override { reducer_->rebuild_buckets(); }
  void prepare_for_backward(const std::vector<at::Tensor>& outputs) override {
    reducer_->prepare_for_backward(outputs);
  }
  std::vector<at::Tensor> through_sink(const std::vector<at::Tensor>& outputs) override {
    return Sink::apply(sink_, outputs);
  }
  int64_t bucket_bytes() const override { return bytes_; }

 private:
  const c10::intrusive_ptr<SinkState> sink_;
  const std::shared_ptr<c10d::Reducer> reducer_;
  int64_t bytes_ = 0;
};

c10::intrusive_ptr<c10d::ProcessGroup> inside(const distributed::Group& group) {
  return static_cast<const C10dGroup&>(group).process_group();
}

}  // namespace

std::unique_ptr<distributed::Reducer> make_reducer(const distributed::Group& group,
                                                   const distributed::ReducerOptions& options) {
  return std::make_unique<C10dReducer>(inside(group), options);
}

void verify_parameters(const distributed::Group& group, const std::vector<at::Tensor>& parameters) {
  c10d::verify_params_across_processes(inside(group), parameters, {});
}

void broadcast_coalesced(const distributed::Group& group, const std::vector<at::Tensor>& tensors, int root) {
  if (tensors.empty()) return;
  const c10::AutoGradMode no_gradients(false);
  c10d::broadcast_coalesced(inside(group), tensors, kBroadcastBytes, root);
}

}  // namespace ltn::c10d_addon
