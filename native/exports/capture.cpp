// torch.capture: from a recorded function to its replays. lib/capture/ calls these.
#include <unordered_set>

#include "native/async/engine_leftovers.h"
#include "native/async/meta_results.h"
#include "native/async/strand.h"
#include "native/convert/call_error.h"
#include "native/exports/exports.h"
#include "native/handles/holder.h"
#include "native/ops/replay.h"

namespace ltn {
namespace {

// Represents a replay in the slot table; its charge is the storages of the closure's tensors. Lifetime: its slot's;
// replays in progress share the Replay beyond it. Thread: the environment's JS thread.
class ReplayToken final : public handles::Holder {
 public:
  explicit ReplayToken(std::shared_ptr<const Replay> made) : replay(std::move(made)) {
    refresh([](const at::Tensor&) { return true; });
  }
  bool refresh(const MayRead& may_read) override {
    std::vector<c10::Storage> storages;
    std::unordered_set<const c10::StorageImpl*> seen;
    for (const at::Tensor& tensor : replay->constants()) {
      if (!may_read(tensor)) return false;
      if (tensor.has_storage() && seen.insert(tensor.storage().unsafeGetStorageImpl()).second) {
        storages.push_back(tensor.storage());
      }
    }
    put(std::move(storages));
    return true;
  }

  const std::shared_ptr<const Replay> replay;
};

const OpRow kInputRow = {"torch.capture", "capture() -> Tensor", nullptr, nullptr, 0};

// The tensors of a list of handles, which `call.mutated` gets too if they may be written to.
std::vector<at::Tensor> read_inputs(Call& call, size_t index, bool written) {
  std::vector<at::Tensor> inputs;
  const auto add = [&](napi_value value, double handle) {
    inputs.push_back(call.tensor(value, index));
    if (written) call.mutated.push_back(static_cast<handles::Handle>(handle));
  };
  const uint32_t length = list_length(call, call.arguments[index], index, Base::Tensor);
  inputs.reserve(length);
  for (uint32_t i = 0; i < length; ++i) {
    const napi_value value = list_element(call, call.arguments[index], i);
    add(value, read_double(call, value, index));
  }
  return inputs;
}

// captureOpen(inputs): a strand whose first codes stand for the inputs.
napi_value open(Call& call) {
  constexpr size_t kMax = size_t{1} << async::kCellBits;
  const std::vector<at::Tensor> inputs = read_inputs(call, 0, false);
  const uint64_t id = call.state.open_strand();
  async::Strand& strand = *call.state.strand(id);
  strand.captures = true;
  for (size_t first = 0; first < inputs.size(); first += kMax) {
    std::vector<at::Tensor> shapes;
    for (size_t i = first; i < std::min(first + kMax, inputs.size()); ++i) {
      shapes.push_back(async::meta_of(inputs[i]));
    }
    strand.add(std::make_unique<async::InputStep>(kInputRow, strand, std::move(shapes)));
  }
  return write_int(call, static_cast<int64_t>(id));
}

// captureEnd(strand, inputs, outputs): the token of what was recorded. Closes the strand.
napi_value end(Call& call) {
  const auto id = static_cast<uint64_t>(read_int(call, call.arguments[0], 0));
  std::shared_ptr<async::Strand> strand = call.state.strand(id);
  const std::vector<at::Tensor> inputs = read_inputs(call, 1, false);
  std::vector<double> outputs;
  const uint32_t length = list_length(call, call.arguments[2], 2, "an array of codes");
  for (uint32_t i = 0; i < length; ++i) {
    outputs.push_back(read_double(call, list_element(call, call.arguments[2], i), 2));
  }
  auto replay = Replay::build(call, std::move(strand), inputs, outputs);
  call.state.close_strand(id);
  return write_result(call, at::detail::make_tensor<ReplayToken>(std::move(replay)));
}

// captureReplay(token, inputs): the results: nothing, one, or an array; false if it was recorded for other inputs.
napi_value replay(Call& call) {
  const at::Tensor& token = call.tensor(call.arguments[0], 0);
  auto* holder = dynamic_cast<ReplayToken*>(token.unsafeGetTensorImpl());
  if (holder == nullptr) throw BadArgument(0, "a captured function", "a Tensor");
  const std::shared_ptr<const Replay> replay = holder->replay;
  const std::vector<at::Tensor> inputs = read_inputs(call, 1, replay->writes());
  if (!replay->fits(inputs)) {
    call.mutated.clear();
    return write_bool(call, false);
  }
  call.mutated.append(replay->written().begin(), replay->written().end());
  const async::OpStep* failed = nullptr;
  std::vector<at::Tensor> results;
  try {
    results = replay->run(inputs, &failed);
  } catch (...) {  // as the error of that op
    if (replay->writes_elsewhere()) {
      free_engine_leftovers();
      call.state.slots().reconcile_inner();
    }
    if (failed == nullptr) throw;
    const BoundOp op{&call.state, &failed->row, true};
    Call of_op(call.env, op, nullptr, 0, 0);
    const std::string inputs_text = failed->describe();
    of_op.inputs = &inputs_text;
    throw ThrownByProgram(current_error(call.env, &of_op));
  }
  if (replay->writes_elsewhere()) call.state.slots().reconcile_inner();
  if (results.size() == 1) return write_result(call, std::move(results[0]));
  if (results.empty()) return nullptr;
  return to_js(call, std::move(results));
}

const Export kCaptureExports[] = {
    exported_body<&open, 1>("captureOpen", "captureOpen(Tensor[] inputs) -> int"),
    exported_body<&end, 3>("captureEnd", "captureEnd(int strand, Tensor[] inputs, float[] outputs) -> Tensor"),
    may_outgrow(exported_body<&replay, 2>("captureReplay", "captureReplay(Tensor token, Tensor[] inputs) -> Any")),
};

}  // namespace

ExportList capture_exports() { return {kCaptureExports, std::size(kCaptureExports)}; }

}  // namespace ltn
