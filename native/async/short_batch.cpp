#include "native/async/short_batch.h"

#include <c10/util/SmallVector.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ltn::async {
namespace {

// Limit for all steps of a batch together. `pow` of float64, the slowest op below, takes about 100 µs for it.
constexpr int64_t kMaxElements = 4096;
constexpr size_t kMaxSteps = 64;

// Ops of every release that is supported, by their names without the overload.
const std::unordered_set<std::string_view> kPointwise = {
    "abs",      "add",     "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil",        "clamp",
    "cos",      "div",     "eq",          "erf",         "exp",        "expm1",       "floor",       "ge",
    "gelu",     "gt",      "le",          "log",         "log1p",      "logical_and", "logical_not", "logical_or",
    "lt",       "maximum", "minimum",     "mul",         "ne",         "neg",         "pow",         "reciprocal",
    "relu",     "round",   "rsqrt",       "rsub",        "sigmoid",    "sign",        "silu",        "sin",
    "softplus", "sqrt",    "square",      "sub",         "tanh",       "trunc"};

const std::unordered_set<std::string_view> kWhole = {"mean", "sum"};

ShortKind find_kind(const OpRow& row) {
  std::string_view name = row.name;
  constexpr std::string_view kAten = "aten::";
  if (row.mutated != 0 || name.substr(0, kAten.size()) != kAten) return ShortKind::Other;
  name.remove_prefix(kAten.size());
  if (kWhole.count(name) != 0) return ShortKind::Whole;  // only the overload that reduces all dimensions
  return kPointwise.count(name.substr(0, name.find('.'))) != 0 ? ShortKind::Pointwise : ShortKind::Other;
}

ShortKind kind_of(const OpRow& row) {
  thread_local std::unordered_map<const OpRow*, ShortKind> known;  // rows live as long as the process
  const auto found = known.find(&row);
  return found != known.end() ? found->second : known.emplace(&row, find_kind(row)).first->second;
}

using Shape = c10::SmallVector<int64_t, 6>;

// Broadcasts `shape` to `other`. False if they do not fit: the op then fails, and its thread does not matter.
bool broadcast(Shape* shape, c10::IntArrayRef other) {
  if (other.size() > shape->size()) shape->insert(shape->begin(), other.size() - shape->size(), 1);
  const size_t offset = shape->size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t& mine = (*shape)[offset + i];
    if (mine == 1)
      mine = other[i];
    else if (other[i] != 1 && other[i] != mine)
      return false;
  }
  return true;
}

// Complex numbers take up to ten times as long. A nested tensor has no sizes.
bool is_plain(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.layout() == c10::kStrided && !tensor.is_quantized() && !tensor.is_nested() &&
         !tensor.is_complex();
}

// What `elements` becomes with the elements of a shape; above kMaxElements if that is too much.
int64_t with_elements_of(const Shape& shape, int64_t elements) {
  int64_t count = 1;
  for (const int64_t size : shape) count = std::min(count * std::min(size, kMaxElements + 1), kMaxElements + 1);
  return elements + count;
}

}  // namespace

bool is_short(const Batch& batch) {
  if (batch.steps.size() > kMaxSteps) return false;
  std::vector<std::pair<const Step*, Shape>> results;  // of the steps before
  results.reserve(batch.steps.size());
  int64_t elements = 0;
  for (const Step* step : batch.steps) {
    // Checked first: the row of a model's step is freed with the model, so kind_of() must not cache it.
    if (dynamic_cast<const OpStep*>(step) == nullptr) return false;
    const ShortKind kind = kind_of(step->row);
    if (kind == ShortKind::Other || step->is_autocast() || step->cells.size() != 1) return false;
    Shape shape;
    size_t pending = 0;
    for (const Step* used : step->recording.uses()) {
      // The last ones are used most.
      const auto is_used = [&](const auto& each) { return each.first == used; };
      const auto result = std::find_if(results.rbegin(), results.rend(), is_used);
      if (result == results.rend()) continue;  // of an earlier batch
      if (!broadcast(&shape, result->second)) return false;
      ++pending;
    }
    // Arguments that are results of an earlier batch are filled in only when the step runs, so their sizes are unknown
    // here.
    if (step->recording.values().size() != pending) return false;
    for (const c10::IValue& value : step->arguments) {
      if (!value.isTensor() || !value.toTensor().defined()) continue;
      const at::Tensor& tensor = value.toTensor();
      if (!is_plain(tensor) || !broadcast(&shape, tensor.sizes())) return false;
    }
    elements = with_elements_of(shape, elements);
    if (elements > kMaxElements) return false;
    if (kind == ShortKind::Whole) shape.clear();
    results.emplace_back(step, std::move(shape));
  }
  return true;
}

std::vector<std::string> short_ops(ShortKind kind) {
  const auto& names = kind == ShortKind::Whole ? kWhole : kPointwise;
  return {names.begin(), names.end()};
}

int64_t short_elements(ShortKind kind, const std::vector<const at::Tensor*>& tensors) {
  if (kind == ShortKind::Whole && tensors.size() != 1) return 0;
  Shape shape;
  for (const at::Tensor* tensor : tensors) {
    if (!is_plain(*tensor) || !broadcast(&shape, tensor->sizes())) return 0;
  }
  const int64_t elements = with_elements_of(shape, 0);
  return elements > kMaxElements ? 0 : elements;
}

}  // namespace ltn::async
