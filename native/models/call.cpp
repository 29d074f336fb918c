#include "native/models/call.h"

#include <utility>

#include "native/async/strand.h"
#include "native/convert/call_error.h"
#include "native/convert/from_js.h"
#include "native/convert/to_js.h"
#include "native/errors/describe_tensor.h"
#include "native/errors/thrown.h"
#include "native/models/token.h"
#include "native/models/values.h"

namespace ltn::models {
namespace {

// The tensor arguments for messages: "x: float32[2, 3]".
std::string describe_arguments(const Method& method, const torch::jit::Stack& values) {
  std::string text;
  const auto arguments = method.arguments();
  for (size_t i = 0; i < values.size() && i < arguments.size(); ++i) {
    if (!values[i].isTensor() || !values[i].toTensor().defined()) continue;
    text += (text.empty() ? "" : ", ") + arguments[i].name() + ": " + describe_tensor(values[i].toTensor());
  }
  return text;
}

napi_value run_now(Call& call, Model& model, const Method& method, torch::jit::Stack values) {
  bool wrote = false;
  c10::IValue result;
  try {
    result = model.run(method, std::move(values), &wrote);
  } catch (...) {  // the method failed: its changes until then count
    if (wrote) call.state.slots().reconcile_all();
    throw;
  }
  if (wrote) call.state.slots().reconcile_all();
  return write_value(call, result);
}

// Later steps can read the result of a method that returns a tensor, like that of an op.
void record(Call& call, std::shared_ptr<Model> model, const Method& method, torch::jit::Stack values,
            const FoundTensors& found) {
  async::Strand& strand = call.state.current_strand();
  auto step = std::make_unique<MethodStep>(std::move(model), method, strand, std::move(values));
  put_pending(*step, found);
  if (method.writes != Writes::Never) step->mutated = found.handles;
  const bool gives_tensor = method.gives_tensor();
  if (gives_tensor) step->cells.resize(1);
  handles::Flags& flags = call.state.flags();
  flags.result = strand.add(std::move(step));
  if (!gives_tensor) flags.recording = handles::Flags::kRecordedValue;
}

}  // namespace

napi_value call_method(Call& call) {
  const std::shared_ptr<Model> model = read_model(call, call.arguments[0], 0);
  const Method& method = model->method(read_string(call, call.arguments[1], 1));
  const BoundOp op{&call.state, &method.row, true};
  Call of_method(call.env, op, nullptr, 0, 0);
  std::string inputs;
  try {
    FoundTensors found;
    torch::jit::Stack values = read_arguments(of_method, call.arguments[2], method, &found);
    if (call.state.flags().recording != handles::Flags::kOff) {
      record(call, model, method, std::move(values), found);
      return nullptr;
    }
    if (!found.pending.empty()) throw PendingTensor(found.pending.front().index);
    if (model->may_write(method)) call.mutated.append(found.handles.begin(), found.handles.end());
    const torch::jit::Stack given = values;
    try {
      return run_now(call, *model, method, std::move(values));
    } catch (...) {  // only to describe the arguments
      inputs = describe_arguments(method, given);
      of_method.inputs = &inputs;
      throw;
    }
  } catch (const ThrownByProgram&) {  // by a hook: it may be any value
    throw;
  } catch (...) {  // any exception becomes the method's error
    return current_error(call.env, &of_method);
  }
}

MethodStep::MethodStep(std::shared_ptr<Model> model, const Method& method, async::Strand& strand,
                       torch::jit::Stack values)
    : ValueStep(method.row, strand, 0), model_(std::move(model)), method_(method) {
  arguments = std::move(values);
}

void MethodStep::call(torch::jit::Stack* stack) {
  // The stack has its own reference to each argument; the method pops them.
  c10::IValue result = model_->run(method_, std::move(*stack), &wrote_elsewhere);
  stack->clear();
  stack->push_back(std::move(result));
}

void put_pending(async::Step& step, const FoundTensors& found) {
  for (const auto& [index, code] : found.pending) {
    bool is_there = false;
    const at::Tensor* tensor = step.recording.find(code, &is_there);
    if (tensor == nullptr) throw PendingTensor(index);
    if (is_there) {
      step.arguments[index] = *tensor;
    } else {
      step.recording.put_later(&step.arguments[index], *tensor);
    }
  }
}

napi_value take_value(Call& call, ValueStep& step) {
  const BoundOp op{&call.state, &step.row, true};
  Call of_method(call.env, op, nullptr, 0, 0);
  try {
    if (step.taken) throw CodedError("ERR_TORCH_INTERNAL", "the result was taken already");
    step.taken = true;
    const torch::jit::Stack result = std::move(step.result);
    step.result.clear();
    return write_value(of_method, result.at(0));
  } catch (...) {  // any exception becomes the method's error
    return current_error(call.env, &of_method);
  }
}

}  // namespace ltn::models
