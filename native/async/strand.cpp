#include "native/async/strand.h"

#include <cmath>

#include "native/errors/describe_tensor.h"
#include "native/handles/kept_shapes.h"
#include "native/schema/arguments.h"

namespace ltn::async {

const at::Tensor* Recording::find(double code, bool* is_there) {
  Step* step = nullptr;
  const at::Tensor* cell = strand_.cell(code, &step);
  if (cell == nullptr) return nullptr;
  uses_.push_back(step);
  *is_there = step->settled;
  return cell;
}

void Recording::put_now() {
  for (const auto& [to, from] : values_) *to = *from;
  for (const auto& element : tensors_) element.list.set(element.position, *element.from);
  for (const auto& element : optionals_) element.list.set(element.position, *element.from);
}

std::string Step::describe() const {
  const auto names = schema_arguments(row.schema);
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : ", ") + name + ": " + value;
  };
  for (size_t i = 0; i < arguments.size() && i < names.size(); ++i) {
    const c10::IValue& value = arguments[i];
    if (value.isTensor() && value.toTensor().defined()) add(names[i].name, describe_tensor(value.toTensor()));
    if (!value.isTensorList()) continue;
    std::string list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) list += (list.empty() ? "" : ", ") + describe_tensor(tensor);
    }
    add(names[i].name, "[" + list + "]");
  }
  return text;
}

Step::Step(const OpRow& row, Strand& strand, size_t count)
    : row(row), recording(strand), arguments(count), modes_(strand.modes_now()) {}

OpStep::OpStep(const OpRow& row, c10::OperatorHandle op, Strand& strand, bool is_factory)
    : Step(row, strand, op.schema().arguments().size()), op(std::move(op)), is_factory_(is_factory) {}

std::shared_ptr<const ThreadModes> Strand::modes_now() {
  const CallModes now = CallModes::now();
  if (modes_ == nullptr || !(modes_->modes == now)) modes_ = std::make_shared<ThreadModes>(now);
  return modes_;
}

void Step::run() {
  recording.put_now();
  torch::jit::Stack stack = arguments;
  handles::keeping_shapes(row.resized(), arguments, [&] { call(&stack); });
  for (size_t i = 0; i < cells.size(); ++i) cells[i] = stack[i].toTensor();
  result = std::move(stack);
  done = true;
  arguments.clear();
  for (Step* used : recording.uses()) {
    if (--used->readers == 0 && !used->wanted && !used->settled) used->drop();
  }
  if (readers == 0 && !wanted) drop();
}

namespace {

// Whether an op that writes to a tensor keeps its shape.
bool keeps_shapes(const OpRow& row) {
  static const char* const kReshaping[] = {"as_strided_", "detach_",    "set_",    "squeeze_",
                                           "swapaxes_",   "swapdims_",  "t_",      "resize",
                                           "transpose_",  "unsqueeze_", "sparse_", "rename_"};
  if ((row.mutated & ~OpRow::kWritesElsewhere) == 0) return true;  // a backward: gradients have their own shapes
  const std::string name = row.name;
  const std::string base = name.substr(name.find(':') + 2, name.find('.') - name.find(':') - 2);
  if (base.empty() || base.back() != '_') return false;  // `out` takes any shape
  for (const char* start : kReshaping) {
    if (base.rfind(start, 0) == 0) return false;
  }
  return true;
}

}  // namespace

double Strand::add(std::unique_ptr<Step> step) {
  constexpr size_t kMaxSteps = size_t{1} << kPositionBits >> kCellBits;
  TORCH_CHECK(steps_.size() < kMaxSteps, "torch.run: more than ", kMaxSteps, " ops");
  const double at =
      std::ldexp(static_cast<double>(id), kPositionBits) + static_cast<double>(steps_.size() << kCellBits);
  if (step->may_write()) {
    writes = true;
    reshapes |= !keeps_shapes(step->row);
  }
  steps_.push_back(std::move(step));
  return kPending - at;
}

at::Tensor* Strand::cell(double code, Step** step) {
  const double at = kPending - code - std::ldexp(static_cast<double>(id), kPositionBits);
  if (!(at >= 0 && at < std::ldexp(1.0, kPositionBits))) return nullptr;
  const auto position = static_cast<uint64_t>(at);
  *step = this->step(position >> kCellBits);
  const size_t index = position & ((1u << kCellBits) - 1);
  return *step != nullptr && index < (*step)->cells.size() ? &(*step)->cells[index] : nullptr;
}

std::vector<Step*> Strand::next_batch(const std::vector<uint32_t>* wanted) {
  std::vector<Step*> batch;
  for (size_t i = submitted_; i < steps_.size(); ++i) batch.push_back(steps_[i].get());
  submitted_ = steps_.size();
  metas.clear();
  for (const Step* step : batch) {
    for (Step* used : step->recording.uses()) ++used->readers;
  }
  if (wanted == nullptr) return batch;
  for (const auto& step : steps_) step->wanted = false;
  for (const uint32_t index : *wanted) {
    if (index < steps_.size()) steps_[index]->wanted = true;
  }
  drop_unwanted();
  return batch;
}

void Strand::drop_unwanted() noexcept {
  for (const auto& step : steps_) {
    if (step->done && !step->wanted && step->readers == 0) step->drop();
  }
}

std::vector<Step*> Strand::rest_of_batch() {
  std::vector<Step*> batch;
  for (size_t i = 0; i < submitted_; ++i) {
    if (!steps_[i]->done) batch.push_back(steps_[i].get());
  }
  failed = nullptr;
  error = nullptr;
  return batch;
}

}  // namespace ltn::async
