#include "native/models/package_call.h"

#include <c10/core/Storage.h>

#include <utility>

#include "native/async/strand.h"
#include "native/convert/call_error.h"
#include "native/convert/from_js.h"
#include "native/errors/describe_tensor.h"
#include "native/models/call.h"
#include "native/models/values.h"

namespace ltn::models {
namespace {

// The result as one value.
c10::IValue run_package(Package& package, const torch::jit::Stack& inputs, bool single) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& input : inputs) tensors.push_back(input.toTensor());
  std::vector<at::Tensor> outputs = package.run(tensors);
  if (single) return outputs.at(0);
  return c10::List<at::Tensor>(std::move(outputs));
}

// A recorded call. Lifetime and thread: as async::Step.
class PackageStep final : public ValueStep {
 public:
  PackageStep(std::shared_ptr<Package> package, bool single, async::Strand& strand, torch::jit::Stack inputs)
      : ValueStep(package->row(), strand, 0), package_(std::move(package)), single_(single) {
    arguments = std::move(inputs);
    if (single_) cells.resize(1);
  }
  bool may_write() const noexcept override { return true; }

 private:
  void call(torch::jit::Stack* stack) override {
    c10::IValue result = run_package(*package_, *stack, single_);
    stack->clear();
    stack->push_back(std::move(result));
  }

  const std::shared_ptr<Package> package_;
  const bool single_;
};

torch::jit::Stack read_inputs(Call& call, napi_value list, const Package& package, FoundTensors* found) {
  const uint32_t length = list_length(call, list, 0, "a list of Tensors");
  if (length != package.inputs()) {
    throw CodedError("ERR_TORCH_ARGUMENT",
                     "takes " + std::to_string(package.inputs()) + " tensors in all, got " + std::to_string(length));
  }
  torch::jit::Stack inputs;
  for (uint32_t i = 0; i < length; ++i) {
    const napi_value value = list_element(call, list, i);
    double number = 0;
    if (napi_get_value_double(call.env, value, &number) == napi_ok && number <= async::kPending) {
      found->pending.push_back({i, number});
      inputs.emplace_back(at::Tensor());
      continue;
    }
    inputs.emplace_back(call.tensor(value, i));
    found->handles.push_back(static_cast<handles::Handle>(number));
  }
  return inputs;
}

std::string describe_inputs(const torch::jit::Stack& inputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "input_" + std::to_string(i) + ": ";
    text += (i == 0 ? "" : ", ") + name + describe_tensor(inputs[i].toTensor());
  }
  return text;
}

void record(Call& call, std::shared_ptr<Package> package, bool single, torch::jit::Stack inputs,
            const FoundTensors& found) {
  async::Strand& strand = call.state.current_strand();
  auto step = std::make_unique<PackageStep>(std::move(package), single, strand, std::move(inputs));
  put_pending(*step, found);
  step->mutated = found.handles;
  handles::Flags& flags = call.state.flags();
  flags.result = strand.add(std::move(step));
  if (!single) flags.recording = handles::Flags::kRecordedValue;
}

}  // namespace

PackageToken::PackageToken(std::shared_ptr<Package> package, uint64_t bytes) : package(std::move(package)) {
  // Bytes that do not belong to a tensor. Any address except null, which would mean that there is no memory.
  c10::DataPtr data(this->package.get(), c10::Device(c10::DeviceType::CPU));
  put({c10::Storage(c10::Storage::use_byte_size_t(), bytes, std::move(data), nullptr, false)});
}

const std::shared_ptr<Package>& read_package(Call& call, napi_value value, size_t index) {
  const at::Tensor& tensor = call.tensor(value, index);
  auto* token = dynamic_cast<PackageToken*>(tensor.unsafeGetTensorImpl());
  if (token == nullptr) throw BadArgument(index, "an AotiPackage", "a Tensor");
  return token->package;
}

napi_value call_package(Call& call) {
  const std::shared_ptr<Package> package = read_package(call, call.arguments[0], 0);
  const bool single = read_bool(call, call.arguments[2], 2);
  const BoundOp op{&call.state, &package->row(), true};
  Call of_package(call.env, op, nullptr, 0, 0);
  std::string text;
  try {
    FoundTensors found;
    const torch::jit::Stack inputs = read_inputs(of_package, call.arguments[1], *package, &found);
    if (call.state.flags().recording != handles::Flags::kOff) {
      record(call, package, single, inputs, found);
      return nullptr;
    }
    if (!found.pending.empty()) throw PendingTensor(found.pending.front().index);
    try {
      return write_value(of_package, run_package(*package, inputs, single));
    } catch (...) {  // only to describe the arguments
      text = describe_inputs(inputs);
      of_package.inputs = &text;
      throw;
    }
  } catch (...) {  // any exception becomes the model's error
    return current_error(call.env, &of_package);
  }
}

}  // namespace ltn::models
