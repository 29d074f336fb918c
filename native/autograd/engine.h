// libtorch's engine of backwards, as this library extends it.
#pragma once

#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/engine.h>

#include <memory>

namespace ltn::autograd {

// Has the nodes' metadata made by `make` (anomaly.h), and lets JavaScript be called by backwards that run on threads of
// a device (callback_queue.h). Lifetime: the process; its threads may be running when that ends. Thread: any.
class Engine final : public torch::autograd::Engine {
 public:
  using MakeMetadata = std::unique_ptr<torch::autograd::AnomalyMetadata> (*)();

  // Makes it the engine of all backwards that begin from now on, if libtorch's own still is. In later releases only the
  // first engine of a process that begins a backward gets threads for the devices (libtorch 2.11 has one flag for all),
  // so where libtorch knows devices this is called at load.
  static void install();
  // Sets what makes the metadata of nodes, and installs the engine.
  static void install(MakeMetadata make);

  torch::autograd::variable_list execute(const torch::autograd::edge_list& roots,
                                         const torch::autograd::variable_list& inputs, bool keep_graph,
                                         bool create_graph, bool accumulate_grad,
                                         const torch::autograd::edge_list& outputs) override;
  std::unique_ptr<torch::autograd::AnomalyMetadata> make_anomaly_metadata() override;
};

}  // namespace ltn::autograd
