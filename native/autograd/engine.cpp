#include "native/autograd/engine.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <string>
#include <typeinfo>
#include <vector>

#include "native/async/collected_warnings.h"
#include "native/async/modes.h"
#include "native/autograd/callback_queue.h"

namespace ltn::autograd {
namespace {

std::atomic<Engine::MakeMetadata> process_make_metadata{nullptr};

torch::autograd::Engine& process_engine() {
  static Engine& engine = *new Engine;  // never freed
  return engine;
}

}  // namespace

void Engine::install() {
  // The extended one stays: this library's, or that of another copy of it.
  if (typeid(get_default_engine()) != typeid(torch::autograd::Engine)) return;
  torch::autograd::set_default_engine_stub(&process_engine);
}

void Engine::install(MakeMetadata make) {
  process_make_metadata.store(make);
  torch::autograd::set_default_engine_stub(&process_engine);
}

std::unique_ptr<torch::autograd::AnomalyMetadata> Engine::make_anomaly_metadata() {
  const MakeMetadata make = process_make_metadata.load();
  return make == nullptr ? torch::autograd::Engine::make_anomaly_metadata() : make();
}

torch::autograd::variable_list Engine::execute(const torch::autograd::edge_list& roots,
                                               const torch::autograd::variable_list& inputs, bool keep_graph,
                                               bool create_graph, bool accumulate_grad,
                                               const torch::autograd::edge_list& outputs) {
  torch::autograd::variable_list results;
  const auto run = [&] {
    results = torch::autograd::Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  };
  if (!CallbackQueue::is_needed_on_thread()) {
    run();
    return results;
  }
  std::vector<std::string> warnings;
  const auto autocast = async::AutocastModes::now();
  const int threads = at::get_num_threads();
  CallbackQueue::of_thread()->run([&] {
    async::take_over_threads(threads);
    const async::AutocastGuard with_autocast(autocast);
    const async::CollectedWarnings collected(warnings);
    run();
  });
  for (const std::string& warning : warnings) TORCH_WARN(warning);
  return results;
}

}  // namespace ltn::autograd
