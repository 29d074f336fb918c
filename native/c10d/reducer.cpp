#include "native/c10d/reducer.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <limits>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "native/autograd/node_ptr.h"
#include "native/c10d/group.h"
#include "native/c10d/release.h"

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
  if constexpr (!kGroupsAreBackends) sizes.first = sizes.cap;
  return sizes;
}

std::vector<size_t> initial_limits(const distributed::ReducerOptions& options, const BucketSizes& sizes) {
  // One bucket until the order in which gradients become ready is known.
  if (options.static_graph || !options.find_unused) {
    return {static_cast<size_t>(std::numeric_limits<int64_t>::max())};
  }
  const auto cap = static_cast<size_t>(sizes.cap), first = static_cast<size_t>(sizes.first);
  if constexpr (!kGroupsAreBackends) {
    if (options.bucket_bytes.has_value()) return {cap};
  }
  return {first, cap};
}

std::unordered_map<size_t, std::string> names_of(const distributed::ReducerOptions& options) {
  std::unordered_map<size_t, std::string> names;
  for (size_t i = 0; i < options.names.size(); ++i) names.emplace(i, options.names[i]);
  return names;
}

// The constructor differs between releases. A template, so that the branch of other releases is not compiled.
template <class Reducer>
std::shared_ptr<Reducer> construct(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                   const distributed::ReducerOptions& options, const BucketSizes& sizes,
                                   Buckets buckets, std::vector<size_t> limits) {
  if constexpr (std::is_constructible_v<Reducer, std::vector<at::Tensor>, Buckets, std::vector<size_t>,
                                        c10::intrusive_ptr<c10d::ProcessGroup>, std::vector<bool>, int64_t, bool, bool,
                                        std::unordered_map<size_t, std::string>, int64_t>) {
    return std::make_shared<Reducer>(options.parameters, std::move(buckets), std::move(limits), group, options.sparse,
                                     sizes.cap, options.find_unused, options.gradient_as_bucket_view, names_of(options),
                                     sizes.first);
  } else {
    return std::make_shared<Reducer>(options.parameters, std::move(buckets), group, options.sparse, sizes.cap,
                                     options.find_unused, options.gradient_as_bucket_view, names_of(options),
                                     sizes.first, /*skip_all_reduce_unused_params=*/false,
                                     /*use_python_reducer=*/false, std::vector<int64_t>());
  }
}

std::shared_ptr<c10d::Reducer> new_reducer(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                           const distributed::ReducerOptions& options) {
  const BucketSizes sizes = sizes_of(options);
  auto [buckets, limits] =
      c10d::compute_bucket_assignment_by_size(options.parameters, initial_limits(options, sizes), options.sparse);
  // Gradients become ready roughly in the opposite order of the parameters.
  std::reverse(buckets.begin(), buckets.end());
  std::reverse(limits.begin(), limits.end());
  return construct<c10d::Reducer>(group, options, sizes, std::move(buckets), std::move(limits));
}

// Passes the outputs on as copies. If the loss depends on some of them, the gradients of the others arrive undefined,
// and the reducer learns that the parameters behind them are unused. On a static graph, the all-reduce of the first
// backward is postponed to its end. Lifetime: the graph of the outputs. Thread: that of the backward.
struct Sink : torch::autograd::Node {
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    if (postpones) {
      torch::autograd::Engine::get_default_engine().queue_callback([weak = reducer] {
        if (const auto made = weak.lock()) made->delay_all_reduce();
      });
    }
    return std::move(gradients);
  }
  std::weak_ptr<c10d::Reducer> reducer;
  bool postpones = false;
};

std::vector<at::Tensor> through(const autograd::OwnedNode<Sink>& sink, const std::vector<at::Tensor>& outputs) {
  sink->set_next_edges(torch::autograd::collect_next_edges(outputs));
  std::vector<at::Tensor> copies;
  for (const at::Tensor& output : outputs) {
    at::Tensor copy = output.detach().clone();
    torch::autograd::set_history(copy, sink);
    copies.push_back(std::move(copy));
  }
  return copies;
}

class C10dReducer final : public distributed::Reducer {
 public:
  C10dReducer(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const distributed::ReducerOptions& options)
      : reducer_(new_reducer(group, options)),
        logger_(std::make_shared<c10d::Logger>(reducer_)),
        is_static_(options.static_graph) {
    reducer_->set_logger(logger_);  // it is used without a check
    logger_->set_construction_data_and_log("", {}, -1, false, false, is_static_);
    if (!is_static_) return;
    reducer_->set_static_graph();
    logger_->set_static_graph();
  }

  void prepare_for_forward() override { reducer_->prepare_for_forward(); }
  void rebuild_buckets() override { reducer_->rebuild_buckets(); }
  void prepare_for_backward(const std::vector<at::Tensor>& outputs) override {
    reducer_->prepare_for_backward(outputs);
  }
  std::vector<at::Tensor> through_sink(const std::vector<at::Tensor>& outputs) override {
    // The graph may be freed on any thread, and a long one not by recursion.
    const auto sink = autograd::make_node<Sink>();
    sink->reducer = reducer_;
    sink->postpones = std::exchange(is_static_, false);
    return through(sink, outputs);
  }

 private:
  const std::shared_ptr<c10d::Reducer> reducer_;
  const std::shared_ptr<c10d::Logger> logger_;
  bool is_static_;  // until the first backward has its sink
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
