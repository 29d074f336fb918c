// libtorch in C++, for `npm run bench:peers`: bench/peers/serve.cjs has the protocol and the cases.
#include <torch/torch.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "programs.h"
#include "serve.h"

namespace bench::peers {

namespace {

namespace nn = torch::nn;

at::Tensor make(at::IntArrayRef shape, int64_t seed, double scale = 1) {
  const int64_t length = c10::multiply_integers(shape);
  const at::Tensor numbers = at::arange(1, length + 1, at::kLong).mul(2 * seed + 37).remainder(101);
  return numbers.to(at::kDouble).div(101).sub(0.5).mul(scale).to(at::kFloat).reshape(shape);
}

template <class Module>
Module filled(Module module, int64_t seed, double scale) {
  const torch::NoGradGuard guard;
  module->weight.copy_(make(module->weight.sizes(), seed, scale));
  module->bias.copy_(make(module->bias.sizes(), seed + 1, scale));
  return module;
}

int64_t rss() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int batch_of(const std::string& name) { return name == "small" ? 200 : name == "mid" ? 5 : 1; }

}  // namespace

int run(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: programs peers SMALL MID MM IMAGES ROWS\n");
    return 2;
  }
  const auto size = [&](int i) { return static_cast<int64_t>(std::atoll(argv[i])); };
  at::set_num_threads(1);
  const at::Tensor a = make({size(1)}, 1), b = make({size(1)}, 2);
  const std::vector<int64_t> square = {size(2), size(2)};
  const at::Tensor x = make(square, 3), y = make(square, 4), z = make(square, 5);
  const at::Tensor m = make({size(3), size(3)}, 6), n = make({size(3), size(3)}, 7);
  nn::Sequential cnn(filled(nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)), 10, 0.6), nn::ReLU(), nn::MaxPool2d(2),
                     filled(nn::Conv2d(nn::Conv2dOptions(8, 16, 3).padding(1)), 12, 0.2), nn::ReLU(), nn::MaxPool2d(2),
                     nn::Flatten(), filled(nn::Linear(256, 10), 14, 0.1));
  const at::Tensor images = make({size(4), 1, 16, 16}, 16);
  nn::Sequential mlp(filled(nn::Linear(784, 128), 20, 0.1), nn::ReLU(), filled(nn::Linear(128, 10), 22, 0.2));
  const at::Tensor rows = make({size(5), 784}, 24);
  const at::Tensor labels = at::arange(size(5), at::kLong).remainder(10);
  torch::optim::Adam optimizer(mlp->parameters(), torch::optim::AdamOptions(1e-3));

  using Once = std::function<at::Tensor()>;
  const std::map<std::string, Once> cases = {
      {"small", [&] { return a.add(b); }},
      {"mid", [&] { return x.mul(y).add(z).relu(); }},
      {"mm", [&] { return m.mm(n); }},
      {"cnn",
       [&] {
         const torch::NoGradGuard guard;
         return cnn->forward(images);
       }},
      {"train",
       [&] {
         optimizer.zero_grad();
         const at::Tensor loss = nn::functional::cross_entropy(mlp->forward(rows), labels);
         loss.backward();
         optimizer.step();
         return loss.detach();
       }},
  };

  std::string first;
  std::string second;
  while (std::cin >> first >> second) {
    if (first == "check") {
      const at::Tensor values = cases.at(second)().reshape({-1});
      std::printf("{\"values\": [");
      for (int64_t i = 0; i < std::min<int64_t>(8, values.numel()); ++i) {
        std::printf("%s%.9g", i == 0 ? "" : ", ", values[i].item<double>());
      }
      std::printf("]}\n");
    } else if (first == "memory") {
      for (int i = 0; i < 100; ++i) cases.at("mid")();
      const int64_t before = rss();
      for (int i = 0; i < std::atoi(second.c_str()); ++i) cases.at("mid")();
      std::printf("{\"growth\": %lld}\n", static_cast<long long>(rss() - before));
    } else {
      const Once& once = cases.at(first);
      const int count = batch_of(first);
      const Loop loop = [&] {
        for (int i = 0; i < count; ++i) once();
      };
      const Cost cost = measure(loop, count, std::atof(second.c_str()));
      std::printf("{\"ns\": %.2f, \"cpu\": %.2f}\n", cost.ns, cost.cpu);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace bench::peers
