#include "native/c10d/collectives.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/util/Exception.h>

#include <string>
#include <utility>

namespace ltn::c10d_addon {
namespace {

using distributed::Collective;
using distributed::Kind;

c10d::ReduceOp reduce_op(int position) {
  using c10d::ReduceOp;
  // Gloo has no mean: it is a sum that is divided afterwards.
  constexpr ReduceOp::RedOpType kOps[] = {ReduceOp::SUM,  ReduceOp::PRODUCT, ReduceOp::MIN,  ReduceOp::MAX,
                                          ReduceOp::BAND, ReduceOp::BOR,     ReduceOp::BXOR, ReduceOp::SUM};
  static_assert(std::size(kOps) == std::size(distributed::kReduceOps));
  return ReduceOp(kOps[position]);
}

template <class Options>
Options with_root(const Collective& collective) {
  Options options;
  options.rootRank = collective.root;
  options.timeout = collective.timeout;
  return options;
}

template <class Options>
Options with_timeout(const Collective& collective) {
  Options options;
  options.timeout = collective.timeout;
  return options;
}

bool is_mean(const Collective& collective) {
  return collective.reduce_op == static_cast<int>(std::size(distributed::kReduceOps)) - 1;
}

std::function<void()> divide(std::vector<at::Tensor> sums, int size) {
  return [sums = std::move(sums), size] {
    at::AutoDispatchBelowADInplaceOrView below;
    for (const at::Tensor& sum : sums) at::div_out(const_cast<at::Tensor&>(sum), sum, at::scalar_tensor(size));
  };
}

at::Tensor flat(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(tensor.reshape({-1}));
  return at::cat(parts);
}

std::vector<int64_t> sizes_of(const std::vector<at::Tensor>& tensors) {
  std::vector<int64_t> sizes;
  for (const at::Tensor& tensor : tensors) sizes.push_back(tensor.numel());
  return sizes;
}

// Equal parts of a contiguous tensor along its first dimension, in its memory.
std::vector<at::Tensor> parts_of(const at::Tensor& tensor, int count, const at::Tensor& like) {
  TORCH_CHECK(tensor.is_contiguous(), "expected a contiguous tensor as the result");
  TORCH_CHECK(tensor.numel() == like.numel() * count, "expected a result of ", like.numel() * count, " elements, got ",
              tensor.numel());
  std::vector<at::Tensor> parts;
  for (int i = 0; i < count; ++i) {
    parts.push_back(tensor.view({-1}).narrow(0, i * like.numel(), like.numel()).view(like.sizes()));
  }
  return parts;
}

Launched reduce_scatter(Backend& backend, Collective& collective) {
  auto options = with_timeout<c10d::ReduceScatterOptions>(collective);
  options.reduceOp = reduce_op(collective.reduce_op);
  std::vector<std::vector<at::Tensor>> lists{collective.inputs};
  const auto mean = is_mean(collective) ? divide(collective.outputs, backend.getSize()) : nullptr;
  try {
    return {backend.reduce_scatter(collective.outputs, lists, options), mean};
  } catch (const c10::Error& error) {
    // Most releases of Gloo's group have none, and say so before anything was sent.
    if (std::string(error.what_without_backtrace()).find("support") == std::string::npos) throw;
  }
  TORCH_CHECK(collective.inputs.size() == static_cast<size_t>(backend.getSize()),
              "expected one tensor for each of the ", backend.getSize(), " ranks, got ", collective.inputs.size());
  for (const at::Tensor& input : collective.inputs) {
    TORCH_CHECK(
        input.numel() == collective.outputs.at(0).numel() && input.scalar_type() == collective.outputs[0].scalar_type(),
        "expected tensors of the result's size and dtype");
  }
  auto sum_options = with_timeout<c10d::AllreduceOptions>(collective);
  sum_options.reduceOp = options.reduceOp;
  std::vector<at::Tensor> sums{flat(collective.inputs)};
  auto work = backend.allreduce(sums, sum_options);
  return {std::move(work), [sums, output = collective.outputs.at(0), rank = backend.getRank(), mean] {
            at::AutoDispatchBelowADInplaceOrView below;
            at::Tensor own = sums[0].narrow(0, rank * output.numel(), output.numel());
            const_cast<at::Tensor&>(output).copy_(own.view(output.sizes()));
            if (mean) mean();
          }};
}

Launched all_to_all(Backend& backend, Collective& collective) {
  TORCH_CHECK(!collective.outputs.empty() && collective.outputs[0].defined(), "expected one tensor for each rank");
  at::Tensor input = flat(collective.inputs);
  at::Tensor output = flat(collective.outputs);
  std::vector<int64_t> output_sizes = sizes_of(collective.outputs);
  std::vector<int64_t> input_sizes = sizes_of(collective.inputs);
  auto work =
      backend.alltoall_base(output, input, output_sizes, input_sizes, with_timeout<c10d::AllToAllOptions>(collective));
  return {std::move(work), [output, outputs = collective.outputs] {
            at::AutoDispatchBelowADInplaceOrView below;
            int64_t at = 0;
            for (const at::Tensor& tensor : outputs) {
              const_cast<at::Tensor&>(tensor).copy_(output.narrow(0, at, tensor.numel()).view(tensor.sizes()));
              at += tensor.numel();
            }
          }};
}

// Gloo takes the memory of a tensor from its first element on, whatever the strides and the bits for conj and neg say:
// what it reads and writes of an expanded tensor is beyond the storage. NCCL refuses such tensors itself.
bool is_plain(const at::Tensor& tensor) {
  return !tensor.is_cpu() || tensor.layout() != at::kStrided ||
         (tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg());
}

// Tensors of the program, and the contiguous ones in their place.
using Copies = std::vector<std::pair<at::Tensor, at::Tensor>>;

Copies make_plain(std::vector<at::Tensor>& tensors) {
  Copies copies;
  for (at::Tensor& tensor : tensors) {
    if (is_plain(tensor)) continue;
    at::Tensor plain = at::empty(tensor.sizes(), tensor.options());
    plain.copy_(tensor);
    copies.emplace_back(tensor, plain);
    tensor = plain;
  }
  return copies;
}

// Whether the collective writes into the tensors that are its inputs.
bool writes_inputs(const Collective& collective, int rank) {
  switch (collective.kind) {
    case Kind::AllReduce:
      return true;
    case Kind::Broadcast:
      return collective.root != rank;
    case Kind::Reduce:
      return collective.root == rank;
    default:
      return false;
  }
}

// The rings of Gloo's allgather divide by the number of bytes. An element for each rank keeps the ranks in step.
Launched gather_nothing(Backend& backend, const Collective& collective) {
  const at::TensorOptions options = collective.inputs[0].options();
  std::vector<at::Tensor> own{at::zeros({1}, options)};
  std::vector<std::vector<at::Tensor>> lists(1);
  for (int i = 0; i < backend.getSize(); ++i) lists[0].push_back(at::zeros({1}, options));
  return {backend.allgather(lists, own, with_timeout<c10d::AllgatherOptions>(collective)), {}};
}

Launched launch_plain(Backend& backend, Collective& collective) {
  std::vector<at::Tensor>& inputs = collective.inputs;
  std::vector<at::Tensor>& outputs = collective.outputs;
  switch (collective.kind) {
    case Kind::Broadcast:
      return {backend.broadcast(inputs, with_root<c10d::BroadcastOptions>(collective)), {}};
    case Kind::AllReduce: {
      auto options = with_timeout<c10d::AllreduceOptions>(collective);
      options.reduceOp = reduce_op(collective.reduce_op);
      return {backend.allreduce(inputs, options), is_mean(collective) ? divide(inputs, backend.getSize()) : nullptr};
    }
    case Kind::Reduce: {
      auto options = with_root<c10d::ReduceOptions>(collective);
      options.reduceOp = reduce_op(collective.reduce_op);
      const bool divides = is_mean(collective) && collective.root == backend.getRank();
      return {backend.reduce(inputs, options), divides ? divide(inputs, backend.getSize()) : nullptr};
    }
    case Kind::AllGather: {
      if (inputs.at(0).numel() == 0) return gather_nothing(backend, collective);
      std::vector<std::vector<at::Tensor>> lists{outputs};
      return {backend.allgather(lists, inputs, with_timeout<c10d::AllgatherOptions>(collective)), {}};
    }
    case Kind::AllGatherIntoTensor: {
      if (inputs.at(0).numel() == 0) return gather_nothing(backend, collective);
      std::vector<std::vector<at::Tensor>> lists{parts_of(outputs.at(0), backend.getSize(), inputs.at(0))};
      return {backend.allgather(lists, inputs, with_timeout<c10d::AllgatherOptions>(collective)), {}};
    }
    case Kind::Gather: {
      std::vector<std::vector<at::Tensor>> lists;
      if (!outputs.empty()) lists.push_back(outputs);
      return {backend.gather(lists, inputs, with_root<c10d::GatherOptions>(collective)), {}};
    }
    case Kind::Scatter: {
      std::vector<std::vector<at::Tensor>> lists;
      if (!inputs.empty()) lists.push_back(inputs);
      return {backend.scatter(outputs, lists, with_root<c10d::ScatterOptions>(collective)), {}};
    }
    case Kind::ReduceScatter:
      return reduce_scatter(backend, collective);
    case Kind::AllToAll:
      return all_to_all(backend, collective);
    case Kind::AllToAllSingle:
      return {backend.alltoall_base(outputs.at(0), inputs.at(0), collective.output_splits, collective.input_splits,
                                    with_timeout<c10d::AllToAllOptions>(collective)),
              {}};
    case Kind::Send:
      return {backend.send(inputs, collective.root, collective.tag), {}};
    case Kind::Recv:
      if (collective.root < 0) return {backend.recvAnysource(outputs, collective.tag), {}};
      return {backend.recv(outputs, collective.root, collective.tag), {}};
    case Kind::Barrier:
    case Kind::MonitoredBarrier:
      return {backend.barrier(with_timeout<c10d::BarrierOptions>(collective)), {}};
  }
  TORCH_CHECK(false, "unknown collective");
}

}  // namespace

Launched launch(Backend& backend, Collective& collective) {
  const at::NoGradGuard no_grad;
  Copies written = make_plain(collective.inputs);
  if (!writes_inputs(collective, backend.getRank())) written.clear();
  for (auto& copy : make_plain(collective.outputs)) written.push_back(std::move(copy));
  Launched launched = launch_plain(backend, collective);
  if (written.empty()) return launched;
  launched.finish = [written = std::move(written), finish = std::move(launched.finish)] {
    if (finish) finish();
    at::AutoDispatchBelowADInplaceOrView below;
    for (const auto& [tensor, plain] : written) const_cast<at::Tensor&>(tensor).copy_(plain);
  };
  return launched;
}

}  // namespace ltn::c10d_addon
