// PyTorch's SyncBatchNorm consists of ops that libtorch has for CUDA alone. These are its formulas by ops of each
// device; what the ranks exchange is in double precision.
#include "native/c10d/batch_norm.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "native/autograd/node_ptr.h"
#include "native/c10d/interruption.h"
#include "native/distributed/library.h"

namespace ltn::c10d_addon {
namespace {

using GroupPointer = std::shared_ptr<distributed::Group>;

// What a backward throws; native/convert/call_error.cpp knows failures of c10d by the name of their type.
class DistributedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Small floating-point types are computed in float32.
at::ScalarType computed_in(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// All dimensions but that of the channels.
std::vector<int64_t> summed(const at::Tensor& input) {
  std::vector<int64_t> dims{0};
  for (int64_t i = 2; i < input.dim(); ++i) dims.push_back(i);
  return dims;
}

// A value for each channel, in the shape that broadcasts over the input.
at::Tensor over(const at::Tensor& channels, const at::Tensor& input) {
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes[1] = channels.numel();
  return channels.to(computed_in(input)).view(sizes);
}

// c10d's value for the time limit of the group.
constexpr distributed::Milliseconds kGroupTimeout{-1};

void run(distributed::Group& group, distributed::Collective collective) {
  collective.timeout = kGroupTimeout;
  try {
    group.start(std::move(collective))->wait();
  } catch (const c10::Error& error) {
    throw DistributedError(error.what_without_backtrace());
  } catch (const Interrupted&) {
    group.abort();  // the other ranks wait for this one
    throw;
  }
}

// The rows of all ranks, below each other.
at::Tensor gathered(distributed::Group& group, const at::Tensor& row) {
  distributed::Collective collective;
  collective.kind = distributed::Kind::AllGather;
  collective.inputs = {row};
  for (int i = 0; i < group.size(); ++i) collective.outputs.push_back(at::empty_like(row));
  const auto rows = collective.outputs;
  run(group, std::move(collective));
  return at::stack(rows);
}

struct Statistics {
  at::Tensor mean;      // [C], double
  at::Tensor variance;  // [C], double, biased
  double count = 0;     // of values of a channel
};

// Combines counts, means and sums of squared deviations, of which each rank has those of its input.
Statistics statistics(distributed::Group& group, const at::Tensor& input) {
  const int64_t channels = input.size(1);
  const auto options = input.options().dtype(at::kDouble);
  at::Tensor mean = at::zeros({channels}, options), deviation = at::zeros({channels}, options);
  if (input.numel() > 0) {
    const at::Tensor values = input.to(computed_in(input));
    mean = values.mean(summed(input)).to(at::kDouble);
    deviation = (values - over(mean, input)).square().sum(summed(input)).to(at::kDouble);
  }
  const double own = channels == 0 ? 0 : static_cast<double>(input.numel() / channels);
  const at::Tensor rows = gathered(group, at::cat({mean, deviation, at::full({1}, own, options)}));
  const at::Tensor counts = rows.slice(1, 2 * channels);
  Statistics all;
  all.count = counts.sum().item<double>();
  if (!(all.count > 1)) throw std::invalid_argument("expected more than 1 value per channel over all ranks");
  const at::Tensor means = rows.slice(1, 0, channels);
  all.mean = (means * counts).sum(0) / all.count;
  const at::Tensor between = ((means - all.mean).square() * counts).sum(0);
  all.variance = (rows.slice(1, channels, 2 * channels).sum(0) + between) / all.count;
  return all;
}

void update(const at::Tensor& running, const at::Tensor& value, double momentum) {
  if (running.defined()) const_cast<at::Tensor&>(running).mul_(1 - momentum).add_(value.to(running.dtype()), momentum);
}

// Lifetime: the graph of the result. Thread: that of the backward.
struct Backward : torch::autograd::Node {
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const c10::AutoGradMode no_graph(false);  // as in PyTorch, there is no second derivative
    const auto self = torch::autograd::variable_list{input.unpack(), weight.unpack()};
    const at::Tensor& x = self[0];
    const auto type = computed_in(x);
    const at::Tensor gradient = gradients.at(0).defined() ? gradients[0].to(type) : at::zeros_like(x, type);
    const at::Tensor centered = x.to(type) - over(mean, x);
    const at::Tensor sum = gradient.sum(summed(x)).to(at::kDouble);
    const at::Tensor product = (gradient * centered).sum(summed(x)).to(at::kDouble);
    torch::autograd::variable_list made(3);
    if (task_should_compute_output(0)) {
      // The sum over all ranks; each of them takes part, also one without an input.
      at::Tensor both = at::cat({sum, product});
      distributed::Collective collective;
      collective.kind = distributed::Kind::AllReduce;
      collective.inputs = {both};
      run(*group, std::move(collective));
      const int64_t channels = x.size(1);
      const at::Tensor mean_gradient = both.slice(0, 0, channels) / count;
      const at::Tensor slope = both.slice(0, channels) / count * invstd.square();
      const at::Tensor scale = self[1].defined() ? invstd * self[1].to(at::kDouble) : invstd;
      made[0] =
          (gradient - over(mean_gradient, x) - centered * over(slope, x)).mul_(over(scale, x)).to(x.scalar_type());
    }
    if (self[1].defined() && task_should_compute_output(1)) made[1] = (product * invstd).to(self[1].scalar_type());
    if (task_should_compute_output(2)) made[2] = sum;  // the engine casts it to the dtype of the bias
    return made;
  }
  std::string name() const override { return "SyncBatchNormBackward"; }
  void release_variables() override {
    input.reset_data();
    weight.reset_data();
  }

  GroupPointer group;
  torch::autograd::SavedVariable input, weight;
  at::Tensor mean, invstd;  // [C], double
  double count = 0;
};

}  // namespace

at::Tensor batch_norm(const GroupPointer& group, const distributed::BatchNormOptions& options) {
  const auto& [input, weight, bias, running_mean, running_var, momentum, eps] = options;
  at::Tensor result, invstd;
  Statistics all;
  {
    const c10::AutoGradMode no_graph(false);
    all = statistics(*group, input);
    update(running_mean, all.mean, momentum);
    update(running_var, all.variance * (all.count / (all.count - 1)), momentum);
    invstd = (all.variance + eps).rsqrt();
    const at::Tensor scale = weight.defined() ? invstd * weight.to(at::kDouble) : invstd;
    result = (input.to(computed_in(input)) - over(all.mean, input)).mul_(over(scale, input));
    if (bias.defined()) result.add_(over(bias, input));
    result = result.to(input.scalar_type());
  }
  if (!torch::autograd::compute_requires_grad(input, weight, bias)) return result;
  const auto node = autograd::make_node<Backward>();
  node->set_next_edges(torch::autograd::collect_next_edges(input, weight, bias));
  node->group = group;
  node->input = torch::autograd::SavedVariable(input, false);
  node->weight = torch::autograd::SavedVariable(weight, false);
  node->mean = all.mean;
  node->invstd = invstd;
  node->count = all.count;
  torch::autograd::set_history(result, node);
  return result;
}

}  // namespace ltn::c10d_addon
