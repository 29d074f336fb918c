#include "native/ops/replay.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "native/compat.h"
#include "native/handles/kept_shapes.h"

namespace ltn {
namespace {

using async::OpStep;
using c10::IValue;

const void* memory_of(const at::Tensor& tensor) {
  return tensor.has_storage() ? static_cast<const void*>(tensor.storage().unsafeGetStorageImpl())
                              : static_cast<const void*>(tensor.unsafeGetTensorImpl());
}

template <class Visit>
void for_each_tensor_in(const IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList() && !value.isIntList() && !value.isDoubleList() && !value.isBoolList()) {
    for (const IValue& element : value.toListRef()) for_each_tensor_in(element, visit);
  }
}

[[noreturn]] void refuse(const std::string& why) { throw CodedError("ERR_TORCH_CAPTURE", why); }

}  // namespace

class ReplayBuilder {
 public:
  ReplayBuilder(Call& call, Replay& replay) : call_(call), replay_(replay), strand_(*replay.strand_) {}

  void build(const std::vector<double>& outputs) {
    if (!strand_.refused.empty()) refuse(strand_.refused);
    for (const auto& [key, tensor] : strand_.examined) {
      if (tensor.is_nested()) continue;  // it has no sizes
      replay_.examined_.emplace_back(tensor);
      add_constant(tensor);
    }
    strand_.examined.clear();
    for (size_t i = 0; i < strand_.size(); ++i) add(*strand_.step(i));
    for (const double code : outputs) {
      async::Step* step = nullptr;
      const at::Tensor* const cell = strand_.cell(code, &step);
      if (cell == nullptr) refuse("it returns a pending tensor of something else");
      const uint32_t from = register_of(cell);
      if (tainted_[from]) refuse("it returns a view of a tensor that it makes from JavaScript values");
      replay_.outputs_.push_back(from);
    }
    replay_.registers_ = static_cast<uint32_t>(tainted_.size());
    replay_.kept_.assign(replay_.registers_, false);
    for (const uint32_t from : replay_.outputs_) replay_.kept_[from] = true;
    // From the end: the last reader of a result takes it.
    for (auto op = replay_.ops_.rbegin(); op != replay_.ops_.rend(); ++op) {
      for (auto operand = op->operands.rbegin(); operand != op->operands.rend(); ++operand) {
        operand->last = !replay_.kept_[operand->from];
        replay_.kept_[operand->from] = true;
      }
    }
    for (Replay::Op& op : replay_.ops_) Replay::add_typed_call(&op);
    if (!replay_.writes_) replay_.written_.clear();
  }

 private:
  uint32_t register_of(const at::Tensor* cell) const { return registers_.at(cell); }

  uint32_t add_cells(std::vector<at::Tensor>& cells, bool tainted) {
    const auto first = static_cast<uint32_t>(tainted_.size());
    for (at::Tensor& cell : cells) {
      registers_.emplace(&cell, static_cast<uint32_t>(tainted_.size()));
      tainted_.push_back(tainted);
    }
    return first;
  }

  void add(async::Step& step) {
    if (dynamic_cast<async::InputStep*>(&step) != nullptr) {
      add_cells(step.cells, false);
    } else if (auto* part = dynamic_cast<async::PartStep*>(&step)) {
      const size_t at = list_ops_.at(&part->list());
      const uint32_t to = add_cells(step.cells, list_tainted_.at(&part->list()));
      replay_.ops_[at].results.push_back({part->first(), to, static_cast<uint32_t>(step.cells.size()), part});
    } else if (auto* op = dynamic_cast<OpStep*>(&step)) {
      add_op(*op);
    } else {
      refuse("it calls a model or a function that is not an op");
    }
    step.metas.clear();
  }

  void add_op(OpStep& step) {
    Replay::Op op{&step, {}, {}, false, !(step.modes().modes == replay_.modes_), {}, {}, {}, {}};
    add_operands(step, &op);
    const bool tainted = examine(step, op);
    const auto& returns = step.op.schema().returns();
    op.is_list = returns.size() == 1 && returns[0].type()->kind() == c10::TypeKind::ListType;
    if (op.is_list) {
      list_ops_.emplace(&step, replay_.ops_.size());
      list_tainted_.emplace(&step, tainted);
    } else if (!step.cells.empty()) {
      const auto count = static_cast<uint32_t>(step.cells.size());
      op.results.push_back({0, add_cells(step.cells, tainted), count, nullptr});
    }
    replay_.writes_ |= step.may_write();
    replay_.writes_elsewhere_ |= (step.row.mutated & OpRow::kWritesElsewhere) != 0;
    replay_.written_.insert(replay_.written_.end(), step.mutated.begin(), step.mutated.end());
    replay_.ops_.push_back(std::move(op));
  }

  void add_operands(OpStep& step, Replay::Op* op) const {
    const auto add = [&](size_t argument, const at::Tensor* from, int32_t position) {
      op->operands.push_back({static_cast<uint32_t>(argument), register_of(from), position, false});
    };
    for (const auto& [to, from] : step.recording.values()) {
      add(static_cast<size_t>(to - step.arguments.data()), from, -1);
    }
    const auto add_element = [&](const IValue& list, size_t position, const at::Tensor* from) {
      for (size_t i = 0; i < step.arguments.size(); ++i) {
        if (step.arguments[i].isList() && step.arguments[i].is(list)) add(i, from, static_cast<int32_t>(position));
      }
    };
    for (const auto& element : step.recording.tensors()) add_element(element.list, element.position, element.from);
    for (const auto& element : step.recording.optionals()) add_element(element.list, element.position, element.from);
    std::stable_sort(op->operands.begin(), op->operands.end(),
                     [](const auto& a, const auto& b) { return a.argument < b.argument; });
  }

  void add_constant(const at::Tensor& tensor) {
    if (!seen_.insert(tensor.unsafeGetTensorImpl()).second) return;
    replay_.constants_.push_back(tensor);
    replay_.constants_were_.push_back(Replay::describe(tensor));
  }

  // Collects the constants. Refuses an op that writes to a tensor that each call would make anew, and a replay would
  // not. Returns whether a result may share memory with such a tensor.
  bool examine(const OpStep& step, const Replay::Op& op) {
    std::unordered_set<const void*> lasting;  // of tensors with a handle: those made by the function have none any more
    for (const handles::Handle handle : step.mutated) {
      const at::Tensor* tensor = call_.state.slots().find(handle);
      if (tensor != nullptr) lasting.insert(tensor->unsafeGetTensorImpl());
    }
    bool any_made = false;
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      bool is_made = false;
      for_each_tensor_in(step.arguments[i], [&](const at::Tensor& tensor) {
        is_made |= lasting.count(tensor.unsafeGetTensorImpl()) == 0;
        add_constant(tensor);
      });
      for (const Replay::Operand& operand : op.operands) {
        if (operand.argument == i) is_made |= tainted_[operand.from];
      }
      if (is_made && i < 62 && (step.row.mutated >> i & 1) != 0) {
        refuse(std::string(step.row.name) + " writes to a tensor that the function made from JavaScript values");
      }
      any_made |= is_made;
    }
    return any_made && may_be_view(step);
  }

  Call& call_;
  Replay& replay_;
  async::Strand& strand_;
  std::unordered_map<const at::Tensor*, uint32_t> registers_;
  std::vector<bool> tainted_;  // by register: may share memory with a tensor that the function makes
  std::unordered_map<const async::Step*, size_t> list_ops_;
  std::unordered_map<const async::Step*, bool> list_tainted_;
  std::unordered_set<const c10::TensorImpl*> seen_;
};

std::shared_ptr<const Replay> Replay::build(Call& call, std::shared_ptr<async::Strand> strand,
                                            const std::vector<at::Tensor>& inputs, const std::vector<double>& outputs) {
  auto replay = std::make_shared<Replay>();
  replay->strand_ = std::move(strand);
  replay->inputs_ = describe(inputs);
  ReplayBuilder(call, *replay).build(outputs);
  replay->strand_->metas.clear();
  return replay;
}

Replay::Input Replay::describe(const at::Tensor& tensor) {
  Input input{{}, tensor.scalar_type(), tensor.device(), tensor.layout(), 0};
  if (!tensor.is_nested()) input.sizes.append(tensor.sizes().begin(), tensor.sizes().end());
  return input;
}

bool Replay::is_like(const at::Tensor& tensor, const Input& input) {
  return tensor.scalar_type() == input.dtype && tensor.layout() == input.layout && tensor.device() == input.device &&
         !tensor.is_nested() && tensor.sizes() == at::IntArrayRef(input.sizes);
}

namespace {

std::vector<std::string> dimension_names(const at::Tensor& tensor) {
  std::vector<std::string> names;
#ifdef LTN_HAS_DIMNAMES
  if (!tensor.has_names()) return names;
  for (const at::Dimname& name : tensor.names()) names.emplace_back(name.symbol().toUnqualString());
#else
  static_cast<void>(tensor);
#endif
  return names;
}

}  // namespace

Replay::Examined::Examined(const at::Tensor& of)
    : tensor(of), was(describe(of)), requires_grad(of.requires_grad()), names(dimension_names(of)) {
  if (of.layout() == c10::kStrided) strides.append(of.strides().begin(), of.strides().end());
}

bool Replay::Examined::is_unchanged() const {
  return is_like(tensor, was) && tensor.requires_grad() == requires_grad && dimension_names(tensor) == names &&
         (was.layout != c10::kStrided || tensor.strides() == at::IntArrayRef(strides));
}

std::vector<Replay::Input> Replay::describe(const std::vector<at::Tensor>& inputs) {
  std::vector<Input> all;
  for (const at::Tensor& tensor : inputs) {
    Input input = describe(tensor);
    while (memory_of(inputs[input.same_memory_as]) != memory_of(tensor)) ++input.same_memory_as;
    all.push_back(std::move(input));
  }
  return all;
}

bool Replay::fits(const std::vector<at::Tensor>& inputs) const {
  if (inputs.size() != inputs_.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& tensor = inputs[i];
    const Input& input = inputs_[i];
    if (!is_like(tensor, input)) return false;
    for (size_t first = 0;; ++first) {
      if (memory_of(inputs[first]) != memory_of(tensor)) continue;
      if (first != input.same_memory_as) return false;
      break;
    }
  }
  // What the function read of them (a shape, a number of parts) is in the recording.
  for (size_t i = 0; i < constants_.size(); ++i) {
    if (!constants_[i].is_nested() && !is_like(constants_[i], constants_were_[i])) return false;
  }
  const auto is_unchanged = [](const Examined& examined) { return examined.is_unchanged(); };
  return std::all_of(examined_.begin(), examined_.end(), is_unchanged) && async::CallModes::now() == modes_;
}

namespace {

// A copy of a list that later elements are put into.
IValue copy_of(const IValue& list) {
  if (list.isTensorList()) return list.toTensorList().copy();
  return list.toList().copy();
}

void put(IValue* list, size_t position, const at::Tensor& tensor) {
  if (list->isTensorList()) {
    list->toTensorList().set(position, tensor);
  } else {
    list->toList().set(position, tensor);
  }
}

// Calls an op in the modes in which it was recorded.
void call_in_own_modes(const OpStep& step, torch::jit::Stack* stack) {
  const async::ModesGuard guard(step.modes());
  step.call_boxed(stack);
}

}  // namespace

// An op whose condition must see its arguments on a stack is called with one, as is one in modes of its own.
void Replay::add_typed_call(Op* op) {
  const OpStep& step = *op->step;
  if (op->own_modes || step.row.check != nullptr || op->results.size() != 1) return;
  op->typed = typed_call_of(step.op);
  if (op->typed == nullptr) return;
  for (const IValue& argument : step.arguments) {
    if (argument.isScalar()) {
      op->scalars.push_back(argument.toScalar());
    } else {
      op->tensors.push_back(-1);
      op->fixed.push_back(argument.isTensor() ? argument.toTensor() : at::Tensor());
    }
  }
  for (size_t i = 0; i < op->operands.size(); ++i) op->tensors[op->operands[i].argument] = static_cast<int32_t>(i);
}

at::Tensor Replay::call_typed(const Op& op, std::vector<at::Tensor>* registers) {
  std::array<const at::Tensor*, kTypedTensors> tensors{};
  for (size_t i = 0; i < op.tensors.size(); ++i) {
    const int32_t operand = op.tensors[i];
    tensors[i] = operand < 0 ? &op.fixed[i] : &(*registers)[op.operands[static_cast<size_t>(operand)].from];
    check_members(op.step->row, *tensors[i]);
  }
  at::Tensor result = op.typed(tensors.data(), op.scalars.data());
  for (const Operand& operand : op.operands) {
    if (operand.last) (*registers)[operand.from].reset();
  }
  return result;
}

void Replay::call_boxed(const Op& op, std::vector<at::Tensor>* registers, torch::jit::Stack* stack) {
  const OpStep& step = *op.step;
  stack->assign(step.arguments.begin(), step.arguments.end());
  uint32_t copied = UINT32_MAX;
  for (const Operand& operand : op.operands) {
    at::Tensor& from = (*registers)[operand.from];
    IValue& to = (*stack)[operand.argument];
    if (operand.position >= 0) {
      if (copied != operand.argument) to = copy_of(to);
      copied = operand.argument;
      put(&to, static_cast<size_t>(operand.position), from);
      if (operand.last) from.reset();
    } else if (operand.last) {
      to = IValue(std::move(from));
      from.reset();
    } else {
      to = IValue(from);
    }
  }
  const auto call = [&] { op.own_modes ? call_in_own_modes(step, stack) : step.call_boxed(stack); };
  handles::keeping_shapes(step.row.resized(), *stack, call);
}

std::vector<at::Tensor> Replay::run(const std::vector<at::Tensor>& inputs, const OpStep** failed) const {
  std::vector<at::Tensor> registers(registers_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (kept_[i]) registers[i] = inputs[i];
  }
  torch::jit::Stack stack;
  stack.reserve(16);
  const auto keep = [&](uint32_t to, at::Tensor result) {
    if (kept_[to]) registers[to] = std::move(result);
  };
  for (const Op& op : ops_) {
    *failed = op.step;
    if (op.typed != nullptr) {
      keep(op.results.front().to, call_typed(op, &registers));
      continue;
    }
    call_boxed(op, &registers, &stack);
    for (const Part& part : op.results) {
      if (op.is_list) part.step->require_total(stack[0].toListRef().size());
      for (uint32_t i = 0; i < part.count; ++i) {
        keep(part.to + i, op.is_list ? at::Tensor(stack[0].toListRef()[part.first + i].toTensor())
                                     : std::move(stack[part.first + i]).toTensor());
      }
    }
  }
  *failed = nullptr;
  std::vector<at::Tensor> outputs;
  outputs.reserve(outputs_.size());
  for (const uint32_t from : outputs_) outputs.push_back(registers[from]);
  return outputs;
}

}  // namespace ltn
