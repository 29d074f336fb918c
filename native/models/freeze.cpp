// Frozen models, and models optimised for inference.
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/passes/frozen_graph_optimizations.h>

#include <memory>
#include <mutex>
#include <utility>

#include "native/errors/errors.h"
#include "native/models/model.h"
#include "native/models/script_error.h"
#include "native/models/training.h"

namespace ltn::models {
namespace {

using Names = std::vector<std::string>;
using torch::jit::Module;

// Whether `name` ("forward", "part.version") is a method or attribute, as libtorch looks it up.
bool has_member(Module module, const std::string& name) {
  size_t from = 0;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', from)) {
    const std::string part = name.substr(from, dot - from);
    if (!module.hasattr(part) || !module.attr(part).isModule()) return false;
    module = module.attr(part).toModule();
    from = dot + 1;
  }
  const std::string last = name.substr(from);
  return module.hasattr(last) || module.find_method(last).has_value();
}

void demand_members(const Module& module, const Names& names, const char* expected, bool methods_only) {
  for (const std::string& name : names) {
    const bool known = methods_only ? module.find_method(name).has_value() : has_member(module, name);
    if (!known) throw BadArgument(1, expected, "'" + name + "'");
  }
}

// clone(true) copies classes and objects, but not tensors.
Module evaluating_copy(const Module& original) {
  Module copy = original.clone(true);
  for (const Module& part : copy.modules()) set_training(part, false);
  return copy;
}

Module frozen(Module copy, const Names& preserved, bool optimize_numerics) {
  torch::jit::freeze_module_inplace(&copy, preserved);
  // torch::jit::freeze optimises only forward; Python also the preserved methods.
  const auto optimize = [&](const std::string& name) {
    if (const auto method = copy.find_method(name)) {
      auto graph = method->graph();
      torch::jit::OptimizeFrozenGraph(graph, optimize_numerics);
    }
  };
  optimize("forward");
  for (const std::string& name : preserved) {
    if (name != "forward") optimize(name);
  }
  return copy;
}

// Runs `make`, and gives an error of libtorch's passes the library's form.
std::shared_ptr<const Code> copied(const Module& original, const char* what, const std::function<Module()>& make,
                                   Module* copy) {
  std::shared_ptr<const Code> code;
  run_or_refuse(std::string("libtorch cannot ") + what + " it",
                [&] { code = std::make_shared<const Code>(Code::of_copy(original, make, copy)); });
  return code;
}

}  // namespace

// Alone: copying a module may call its __getstate__.
std::shared_ptr<Model> Model::freeze(const Names& preserved, bool optimize_numerics) const {
  const std::unique_lock<ModelMutex> lock(mutex_);
  ++changes_;
  if (trains(module_)) throw BadArgument(0, "a model in evaluation mode", "one in training mode");
  demand_members(module_, preserved, "names of its attributes or methods", false);
  Module copy;
  auto code = copied(
      module_, "freeze", [&] { return frozen(module_.clone(true), preserved, optimize_numerics); }, &copy);
  return std::shared_ptr<Model>(new Model(std::move(copy), std::move(code)));
}

std::shared_ptr<Model> Model::optimize_for_inference(const Names& other_methods) const {
  const std::unique_lock<ModelMutex> lock(mutex_);
  ++changes_;
  demand_members(module_, other_methods, "names of its methods", true);
  const auto make = [&] {
    const bool is_frozen = !module_.hasattr("training");
    Module ready = is_frozen ? module_.clone(true) : frozen(evaluating_copy(module_), other_methods, true);
    return torch::jit::optimize_for_inference(ready, other_methods);
  };
  Module copy;
  auto code = copied(module_, "optimise", make, &copy);
  return std::shared_ptr<Model>(new Model(std::move(copy), std::move(code)));
}

}  // namespace ltn::models
