#include "native/models/code.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <mutex>
#include <unordered_set>
#include <utility>

#include "native/models/reachable.h"

namespace ltn::models {
namespace {

std::mutex process_units;  // functions are added to a compilation unit or removed from it
thread_local bool is_copying = false;

// Copies of models that have ended, to be removed by the next holder of process_units. Never destroyed: models may end
// after static destructors have run.
struct Ended {
  std::mutex mutex;
  std::vector<Copies> copies;
};
Ended& process_ended() {
  static auto& ended = *new Ended;
  return ended;
}

// With process_units held.
void remove(Copies& copies) {
  for (const c10::QualifiedName& name : copies.names) {
    if (copies.unit->find_function(name) == nullptr) continue;  // libtorch has removed it
    if (const auto type = copies.unit->get_class(c10::QualifiedName(name.prefix()))) {
      if (type->findMethod(name.name()) != nullptr) type->unsafeRemoveMethod(name.name());
    }
    copies.unit->unsafeRemoveMethod(name);
  }
  copies.unit.reset();
}

std::vector<Copies> take_ended() {
  const std::lock_guard<std::mutex> lock(process_ended().mutex);
  return std::exchange(process_ended().copies, {});
}

bool has_ended() {
  const std::lock_guard<std::mutex> lock(process_ended().mutex);
  return !process_ended().copies.empty();
}

// Unless another thread holds process_units: then that one does it when it has let go of it.
void remove_ended() {
  while (has_ended()) {
    const std::unique_lock<std::mutex> lock(process_units, std::try_to_lock);
    if (!lock.owns_lock()) return;
    for (Copies& copies : take_ended()) remove(copies);
  }
}

// Holds process_units, and removes what has ended meanwhile.
class UnitsLock {
 public:
  UnitsLock() {
    process_units.lock();
    is_copying = true;
  }
  ~UnitsLock() {
    is_copying = false;
    process_units.unlock();
    remove_ended();
  }
  UnitsLock(const UnitsLock&) = delete;
  UnitsLock& operator=(const UnitsLock&) = delete;
};

void visit_nodes(const torch::jit::Block* block, const std::function<void(const torch::jit::Node*)>& visit) {
  for (const torch::jit::Node* node : block->nodes()) {
    visit(node);
    for (const torch::jit::Block* inner : node->blocks()) visit_nodes(inner, visit);
  }
}

}  // namespace

Code Code::of_loaded(const torch::jit::Module& module) {
  Code code;
  const UnitsLock lock;
  code.find_constants(module._ivalue()->compilation_unit()->get_functions());
  return code;
}

Code Code::of_copy(const torch::jit::Module& original, const std::function<torch::jit::Module()>& make,
                   torch::jit::Module* copy) {
  Code code;
  const UnitsLock lock;
  const auto unit = original._ivalue()->compilation_unit();
  const auto before = unit->get_functions();
  const std::unordered_set<const torch::jit::Function*> known(before.begin(), before.end());
  std::vector<torch::jit::Function*> made;
  const auto find_made = [&] {
    code.copies_.unit = unit;
    for (torch::jit::Function* function : unit->get_functions()) {
      if (function == nullptr || known.count(function) != 0) continue;
      made.push_back(function);
      code.copies_.names.push_back(function->qualname());
    }
  };
  try {
    *copy = make();
    find_made();
    code.find_constants(made);
  } catch (...) {  // any exception: nothing of the copy stays
    if (code.copies_.unit == nullptr) find_made();
    remove(code.copies_);
    throw;
  }
  return code;
}

Code::~Code() {
  if (copies_.unit == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(process_ended().mutex);
    process_ended().copies.push_back(std::move(copies_));
  }
  if (!is_copying) remove_ended();
}

void Code::find_constants(const std::vector<torch::jit::Function*>& functions) {
  std::unordered_set<const c10::TensorImpl*> seen;
  for (torch::jit::Function* function : functions) {
    auto* graph_function = function == nullptr ? nullptr : torch::jit::tryToGraphFunction(*function);
    if (graph_function == nullptr) continue;
    visit_nodes(graph_function->graph()->block(), [&](const torch::jit::Node* node) {
      has_layouts_ |= node->kind() == c10::prim::ConstantMKLDNNTensor;
      if (node->kind() != c10::prim::Constant) return;
      const auto value = torch::jit::toIValue(node->output());
      if (!value.has_value()) return;
      for_each_tensor(*value, [&](const at::Tensor& tensor) {
        if (seen.insert(tensor.unsafeGetTensorImpl()).second) constants_.push_back(tensor);
      });
    });
  }
}

}  // namespace ltn::models
