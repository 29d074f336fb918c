#include "native/ops/replaced_lstm.h"

#include "native/compat.h"

#ifdef LTN_HAS_MKLDNN_RNN

#include <ATen/ATen.h>
#include <ATen/ops/mkldnn_rnn_layer_backward_native.h>
#include <ATen/ops/mkldnn_rnn_layer_native.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

namespace ltn {
namespace {

using MaybeTensor = std::optional<at::Tensor>;

// What the kernels read and write follows from `input` and `hidden_size`, whatever the tensors have.
struct Layer {
  static constexpr int64_t kLstm = 2;  // the only mode that the kernels have
  static constexpr int64_t kGates = 4;

  const at::Tensor& input;  // [steps, batch, in]
  int64_t hidden_size;

  Layer(const at::Tensor& given, int64_t hidden, int64_t mode, at::IntArrayRef batch_sizes)
      : input(given), hidden_size(hidden) {
    TORCH_CHECK(mode == kLstm && batch_sizes.empty(), "lstm: expected the mode ", kLstm, " without batch_sizes, got ",
                mode, " and ", batch_sizes);
    TORCH_CHECK(input.dim() == 3 && !input.is_mkldnn() && input.numel() > 0 && hidden_size > 0,
                "lstm: expected an input [steps, batch, in] with elements and a hidden size of at least 1, got ",
                input.sizes(), " and ", hidden_size);
  }

  // A tensor as the kernels read it: one number after the other.
  at::Tensor checked(const char* name, const at::Tensor& tensor, at::IntArrayRef sizes) const {
    TORCH_CHECK(!tensor.is_mkldnn(), "lstm: ", name, ": expected a strided tensor, got one in oneDNN's layout");
    TORCH_CHECK(
        tensor.sizes() == sizes && tensor.scalar_type() == input.scalar_type() && tensor.device() == input.device(),
        "lstm: ", name, ": expected ", sizes, " of ", input.scalar_type(), ", got ", tensor.sizes(), " of ",
        tensor.scalar_type());
    return tensor.contiguous();
  }
  // The hidden or the cell state: [1, batch, hidden] or [batch, hidden].
  at::Tensor state(const char* name, const at::Tensor& tensor) const {
    const int64_t batch = input.size(1);
    if (tensor.dim() == 2) return checked(name, tensor, {batch, hidden_size});
    return checked(name, tensor, {1, batch, hidden_size});
  }
  // A weight in oneDNN's layout, which is [1, 1, in, 4, hidden], is checked by oneDNN.
  at::Tensor weight(const char* name, const at::Tensor& tensor, int64_t columns) const {
    return tensor.is_mkldnn() ? tensor : checked(name, tensor, {kGates * hidden_size, columns});
  }
  at::Tensor bias(const char* name, const at::Tensor& tensor, bool is_read) const {
    return is_read ? checked(name, tensor, {kGates * hidden_size}) : tensor;
  }
  // The hidden state after each step.
  at::Tensor output(const char* name, const at::Tensor& tensor) const {
    return checked(name, tensor, {input.size(0), input.size(1), hidden_size});
  }
  MaybeTensor state_if_given(const char* name, const MaybeTensor& tensor) const {
    return tensor.has_value() && tensor->defined() ? state(name, *tensor) : tensor;
  }
  MaybeTensor output_if_given(const char* name, const MaybeTensor& tensor) const {
    return tensor.has_value() && tensor->defined() ? output(name, *tensor) : tensor;
  }
};

// How many bytes a layer leaves for its gradient, by what that depends on: only oneDNN knows. Filled by layers in
// training; any thread.
class Workspaces {
 public:
  using Key = std::array<int64_t, 6>;

  static Key key(const Layer& layer, bool has_biases) {
    const at::Tensor& input = layer.input;
    return {input.size(0),     input.size(1),      input.size(2),
            layer.hidden_size, has_biases ? 1 : 0, static_cast<int64_t>(input.scalar_type())};
  }

  void add(const Key& key, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes_.size() >= kMost) bytes_.clear();
    bytes_[key] = bytes;
  }
  bool has(const Key& key, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = bytes_.find(key);
    return found != bytes_.end() && found->second == bytes;
  }

 private:
  static constexpr size_t kMost = 256;
  std::mutex mutex_;
  std::map<Key, int64_t> bytes_;
};

// One in the process, because a gradient is made on another thread than its layer. Never destroyed: threads of
// autograd may outlive the end of main.
Workspaces& workspaces() {
  static auto& all = *new Workspaces();
  return all;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> rnn_layer(
    const at::Tensor& input, const at::Tensor& weight0, const at::Tensor& weight1, const at::Tensor& weight2,
    const at::Tensor& weight3, const at::Tensor& hx, const at::Tensor& cx, bool reverse, at::IntArrayRef batch_sizes,
    int64_t mode, int64_t hidden_size, int64_t num_layers, bool has_biases, bool bidirectional, bool batch_first,
    bool train) {
  const Layer layer(input, hidden_size, mode, batch_sizes);
  auto results = at::native::mkldnn_rnn_layer(
      input.contiguous(), layer.weight("w_ih", weight0, input.size(2)), layer.weight("w_hh", weight1, hidden_size),
      layer.bias("b_ih", weight2, has_biases), layer.bias("b_hh", weight3, has_biases), layer.state("h_0", hx),
      layer.state("c_0", cx), reverse, batch_sizes, mode, hidden_size, num_layers, has_biases, bidirectional,
      batch_first, train);
  const at::Tensor& workspace = std::get<3>(results);
  if (train && workspace.defined()) workspaces().add(Workspaces::key(layer, has_biases), workspace.numel());
  return results;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> rnn_layer_backward(
    const at::Tensor& input, const at::Tensor& weight1, const at::Tensor& weight2, const at::Tensor& weight3,
    const at::Tensor& weight4, const at::Tensor& hx, const at::Tensor& cx, const at::Tensor& output,
    const at::Tensor& hy, const at::Tensor& cy, const MaybeTensor& grad_output, const MaybeTensor& grad_hy,
    const MaybeTensor& grad_cy, bool reverse, int64_t mode, int64_t hidden_size, int64_t num_layers, bool has_biases,
    bool train, bool bidirectional, at::IntArrayRef batch_sizes, bool batch_first, const at::Tensor& workspace) {
  const Layer layer(input, hidden_size, mode, batch_sizes);
  const at::Tensor w_ih = layer.weight("w_ih", weight1, input.size(2));
  const at::Tensor w_hh = layer.weight("w_hh", weight2, hidden_size);
  const at::Tensor b_ih = layer.bias("b_ih", weight3, has_biases);
  const at::Tensor b_hh = layer.bias("b_hh", weight4, has_biases);
  const at::Tensor h_0 = layer.state("h_0", hx);
  const at::Tensor c_0 = layer.state("c_0", cx);
  bool fits = workspaces().has(Workspaces::key(layer, has_biases), workspace.numel());
  if (!fits) {  // of another layer, or forgotten: the layer is run to know
    const auto results = rnn_layer(input, w_ih, w_hh, b_ih, b_hh, h_0, c_0, reverse, batch_sizes, mode, hidden_size,
                                   num_layers, has_biases, bidirectional, batch_first, true);
    fits = std::get<3>(results).numel() == workspace.numel();
  }
  TORCH_CHECK(fits && workspace.scalar_type() == at::kByte && workspace.layout() == at::kStrided &&
                  workspace.device() == input.device(),
              "lstm: workspace: expected what the layer has left, got ", workspace.sizes(), " of ",
              workspace.scalar_type());
  return at::native::mkldnn_rnn_layer_backward(
      input.contiguous(), w_ih, w_hh, b_ih, b_hh, h_0, c_0, layer.output("output", output), layer.state("h_n", hy),
      layer.state("c_n", cy), layer.output_if_given("grad_output", grad_output),
      layer.state_if_given("grad_h_n", grad_hy), layer.state_if_given("grad_c_n", grad_cy), reverse, mode, hidden_size,
      num_layers, has_biases, train, bidirectional, batch_sizes, batch_first, workspace.contiguous());
}

}  // namespace

void replace_lstm(torch::Library& cpu, torch::Library& mkldnn) {
  cpu.impl("mkldnn_rnn_layer", &rnn_layer);
  mkldnn.impl("mkldnn_rnn_layer", &rnn_layer);
  cpu.impl("mkldnn_rnn_layer_backward", &rnn_layer_backward);
}

}  // namespace ltn

#else

namespace ltn {
void replace_lstm(torch::Library&, torch::Library&) {}
}  // namespace ltn

#endif
