// The reference: training steps with libtorch's own C++ modules and optimizers. bench/node/train.cjs has the same nets.
#include <torch/torch.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "programs.h"
#include "serve.h"

namespace bench::train {

namespace {

namespace nn = torch::nn;

nn::Sequential mlp() { return nn::Sequential(nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)); }

nn::Sequential cnn() {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Conv2d(nn::Conv2dOptions(8, 16, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                        nn::Linear(256, 10));
}

struct TransformerImpl : nn::Module {
  TransformerImpl() {
    // This release's C++ class is for sequences first.
    encoder = register_module("encoder", nn::TransformerEncoder(nn::TransformerEncoderOptions(
                                             nn::TransformerEncoderLayerOptions(64, 4).dim_feedforward(256), 4)));
    scores = register_module("scores", nn::Linear(64, 10));
  }
  torch::Tensor forward(const torch::Tensor& x) { return scores(encoder(x.transpose(0, 1)).mean(0)); }
  nn::TransformerEncoder encoder{nullptr};
  nn::Linear scores{nullptr};
};
TORCH_MODULE(Transformer);

template <class Net>
Loop training(Net net, torch::Tensor x) {
  auto optimizer = std::make_shared<torch::optim::Adam>(net->parameters(), torch::optim::AdamOptions(1e-3));
  const torch::Tensor labels = torch::arange(x.size(0)).remainder(10);
  return [=]() mutable {
    optimizer->zero_grad();
    torch::nn::functional::cross_entropy(net->forward(x), labels).backward();
    optimizer->step();
  };
}

}  // namespace

int run(int, char**) {
  const char* threads = std::getenv("BENCH_THREADS");
  at::set_num_threads(threads == nullptr ? 1 : std::atoi(threads));
  const std::map<std::string, Loop> loops = {
      {"mlp", training(mlp(), torch::randn({32, 784}))},
      {"cnn", training(cnn(), torch::randn({64, 1, 16, 16}))},
      {"transformer", training(Transformer(), torch::randn({8, 32, 64}))},
  };
  return serve([&](const std::string& op) -> Found {
    const auto found = loops.find(op);
    return found == loops.end() ? Found{} : Found{&found->second, 1};
  });
}

}  // namespace bench::train
