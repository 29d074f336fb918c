#include "native/async/meta_results.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "native/compat.h"
#include "native/schema/op_table.h"

namespace ltn::async {

at::Tensor meta_of(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != c10::kStrided || tensor.is_quantized() || tensor.is_nested()) return {};
  at::Tensor meta =
      at::empty_strided(tensor.sizes(), tensor.strides(), at::TensorOptions().dtype(tensor.dtype()).device(c10::kMeta));
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) meta.unsafeGetTensorImpl()->set_wrapped_number(true);
  return meta;
}

namespace {

using c10::IValue;
using c10::TypeKind;

at::Tensor empty_like_shape(at::IntArrayRef sizes, c10::ScalarType dtype) {
  return at::empty(sizes, at::TensorOptions().dtype(dtype).device(c10::kMeta));
}

// Thrown if a shape cannot be inferred.
struct Unknown {};

// The arguments of a step as meta tensors.
class Arguments {
 public:
  Arguments(Strand& strand, const OpStep& step) : strand_(strand), step_(step) {
    const auto& arguments = step.op.schema().arguments();
    for (size_t i = 0; i < step.arguments.size(); ++i) stack.push_back(of(step.arguments[i], arguments[i]));
    if (!any_tensor_ && !any_device_) throw Unknown();  // it would run for real
  }

  const at::Tensor& tensor(size_t index) const { return stack[index].toTensor(); }
  std::vector<int64_t> ints(size_t index) const { return stack[index].toIntVector(); }

  torch::jit::Stack stack;

 private:
  at::Tensor cell_meta(const at::Tensor* cell) const {
    for (const Step* used : step_.recording.uses()) {
      const at::Tensor* const first = used->cells.data();
      if (cell < first || cell >= first + used->cells.size()) continue;
      const auto index = static_cast<size_t>(cell - first);
      if (used->settled) return meta_of(*cell);
      if (index < used->metas.size() && used->metas[index].defined()) return used->metas[index];
    }
    throw Unknown();
  }
  at::Tensor there(const at::Tensor& tensor) {
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    MetaTensor& meta = strand_.metas[impl];
    if (!meta.tensor.defined()) meta.tensor = meta_of(tensor);
    if (!meta.tensor.defined()) throw Unknown();
    meta.of.emplace(tensor.getIntrusivePtr());
    return meta.tensor;
  }
  IValue of(const IValue& value, const c10::Argument& argument) {
    TypeKind kind = argument.type()->kind();
    if (kind == TypeKind::OptionalType) kind = argument.type()->castRaw<c10::OptionalType>()->getElementType()->kind();
    if (kind == TypeKind::DeviceObjType) {
      any_device_ = true;
      return c10::Device(c10::kMeta);
    }
    if (kind == TypeKind::GeneratorType || argument.name() == "pin_memory") return IValue();
    for (const auto& [to, from] : step_.recording.values()) {
      if (to != &value) continue;
      any_tensor_ = true;
      return cell_meta(from);
    }
    if (value.isTensor()) {
      if (!value.toTensor().defined()) return value;
      any_tensor_ = true;
      return there(value.toTensor());
    }
    return value.isList() && !value.isIntList() && !value.isDoubleList() && !value.isBoolList() ? of_list(value)
                                                                                                : value;
  }
  IValue of_list(const IValue& value) {
    const auto elements = value.toListRef();
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const IValue& element : elements) {
        list.push_back(element.toTensor().defined() ? there(element.toTensor()) : at::Tensor());
      }
      put(step_.recording.tensors(), elements.data(), list);
      any_tensor_ = true;  // an empty list has no elements to compute on either
      return list;
    }
    if (elements.empty() || !(elements[0].isTensor() || elements[0].isNone())) return value;
    c10::List<c10::optional<at::Tensor>> list;
    for (const IValue& element : elements) {
      if (element.isTensor() && element.toTensor().defined())
        list.push_back(there(element.toTensor()));
      else
        list.push_back(c10::nullopt);
    }
    put(step_.recording.optionals(), elements.data(), list);
    any_tensor_ = true;
    return list;
  }
  template <class T>
  void put(const std::vector<Recording::Element<T>>& later, const IValue* elements, const c10::List<T>& list) {
    for (const auto& element : later) {
      const IValue whole(element.list);
      if (whole.toListRef().data() == elements) list.set(element.position, T(cell_meta(element.from)));
    }
  }

  Strand& strand_;
  const OpStep& step_;
  bool any_tensor_ = false, any_device_ = false;
};

// Result shapes of ops that libtorch 1.13 cannot run on the meta device.
at::Tensor conv(const Arguments& given) {
  const at::Tensor &input = given.tensor(0), &weight = given.tensor(1);
  if (!given.stack[4].isIntList()) throw Unknown();  // a named padding
  const int64_t dims = weight.dim() - 2;
  const auto stride = given.ints(3), padding = given.ints(4), dilation = given.ints(5);
  const auto fits = [dims](const std::vector<int64_t>& list) {
    return list.size() == 1 || static_cast<int64_t>(list.size()) == dims;
  };
  const bool steps = std::all_of(stride.begin(), stride.end(), [](int64_t step) { return step > 0; });
  if (dims < 1 || !fits(stride) || !fits(padding) || !fits(dilation) || !steps)
    throw Unknown();  // the op throws when it runs
  const auto at = [](const std::vector<int64_t>& list, int64_t i) {
    return list[list.size() == 1 ? 0 : static_cast<size_t>(i)];
  };
  const int64_t outer = input.dim() - dims - 1;  // 1 with a batch dimension, else 0
  if (outer < 0 || outer > 1) throw Unknown();
  std::vector<int64_t> sizes(input.sizes().begin(), input.sizes().begin() + outer);
  sizes.push_back(weight.size(0));
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t window = at(dilation, i) * (weight.size(i + 2) - 1) + 1;
    const int64_t room = input.size(outer + 1 + i) + 2 * at(padding, i) - window;
    if (room < 0) throw Unknown();
    sizes.push_back(room / at(stride, i) + 1);
  }
  return empty_like_shape(sizes, input.scalar_type());
}

at::Tensor adaptive_pool(const Arguments& given) {
  std::vector<int64_t> sizes = given.tensor(0).sizes().vec();
  const std::vector<int64_t> last = given.ints(1);
  if (sizes.size() < last.size()) throw Unknown();
  std::copy(last.begin(), last.end(), sizes.end() - static_cast<std::ptrdiff_t>(last.size()));
  return empty_like_shape(sizes, given.tensor(0).scalar_type());
}

at::Tensor index_select(const Arguments& given) {
  const at::Tensor& self = given.tensor(0);
  std::vector<int64_t> sizes = self.sizes().vec();
  if (sizes.empty()) return empty_like_shape({}, self.scalar_type());
  sizes.at(static_cast<size_t>(at::maybe_wrap_dim(given.stack[1].toInt(), self.dim()))) = given.tensor(2).numel();
  return empty_like_shape(sizes, self.scalar_type());
}

at::Tensor embedding(const Arguments& given) {
  std::vector<int64_t> sizes = given.tensor(1).sizes().vec();
  sizes.push_back(given.tensor(0).size(1));
  return empty_like_shape(sizes, given.tensor(0).scalar_type());
}

at::Tensor where(const Arguments& given) {
  const at::Tensor &x = given.tensor(1), &y = given.tensor(2);
  const auto sizes = at::infer_size(at::infer_size(given.tensor(0).sizes(), x.sizes()), y.sizes());
  return empty_like_shape(sizes, at::result_type(x, y));
}

at::Tensor as_self(const Arguments& given) {
  return empty_like_shape(given.tensor(0).sizes(), given.tensor(0).scalar_type());
}

// Of libtorch 2. Batches that broadcast are left to the op.
at::Tensor attention(const Arguments& given) {
  const at::Tensor &query = given.tensor(0), &value = given.tensor(2);
  std::vector<int64_t> sizes = query.sizes().vec();
  const int64_t outer = query.dim() - 2;
  const bool same = outer >= 0 && value.dim() == query.dim() &&
                    std::equal(sizes.begin(), sizes.begin() + outer, value.sizes().begin());
  if (!same) throw Unknown();
  sizes.back() = value.size(-1);
  return empty_like_shape(sizes, query.scalar_type());
}

at::Tensor whole(const Arguments& given) { return empty_like_shape({}, given.tensor(0).scalar_type()); }

struct Rule {
  const char* op;
  at::Tensor (*find)(const Arguments&);
};
constexpr std::array kRules = {
    Rule{"aten::conv1d", &conv},
    Rule{"aten::conv2d", &conv},
    Rule{"aten::conv3d", &conv},
    Rule{"aten::index_select", &index_select},
    Rule{"aten::embedding", &embedding},
    Rule{"aten::where.self", &where},
    Rule{"aten::relu", &as_self},
    Rule{"aten::prelu", &as_self},
    Rule{"aten::dropout", &as_self},
    Rule{"aten::feature_dropout", &as_self},
    Rule{"aten::layer_norm", &as_self},
    Rule{"aten::group_norm", &as_self},
    Rule{"aten::batch_norm", &as_self},
    Rule{"aten::instance_norm", &as_self},
    Rule{"aten::flip", &as_self},
    Rule{"aten::hardtanh", &as_self},
    Rule{"aten::roll", &as_self},
    Rule{"aten::adaptive_avg_pool1d", &adaptive_pool},
    Rule{"aten::adaptive_avg_pool2d", &adaptive_pool},
    Rule{"aten::adaptive_avg_pool3d", &adaptive_pool},
    Rule{"aten::bernoulli", &as_self},
    Rule{"aten::scaled_dot_product_attention", &attention},
    Rule{"aten::max", &whole},
    Rule{"aten::min", &whole},
};

std::vector<at::Tensor> run(Strand& strand, const OpStep& step) {
  Arguments given(strand, step);
  for (const Rule& rule : kRules) {
    if (std::string_view(rule.op) == step.row.name) return {rule.find(given)};
  }
  step.call_boxed(&given.stack);
  std::vector<at::Tensor> results;
  for (const IValue& value : given.stack) {
    if (value.isTensor())
      results.push_back(value.toTensor());
    else if (value.isTensorList())
      results = value.toTensorVector();
    else
      throw Unknown();
  }
  for (at::Tensor& result : results) {
    if (!result.defined() || !result.is_meta()) result = at::Tensor();
  }
  return results;
}

// Marks shapes as unknown until the next batch, after a step that reshapes its arguments in an unknown way. The mark is
// the entry of `metas` for null.
void forget_shapes(Strand& strand) { strand.metas[nullptr] = MetaTensor(); }
bool are_forgotten(const Strand& strand) { return strand.metas.count(nullptr) != 0; }

// True if the result is a list that is known to have no tensors.
bool find_for(Strand& strand, Step& step) {
  step.metas.assign(std::max<size_t>(step.cells.size(), 1), at::Tensor());
  const auto* op = dynamic_cast<const OpStep*>(&step);
  if (op == nullptr || (step.row.mutated & OpRow::kWritesElsewhere) != 0 || are_forgotten(strand)) return false;
  const at::AutoDispatchBelowADInplaceOrView without_gradients;
  const compat::SilentWarnings silent_warnings;
  try {
    std::vector<at::Tensor> found = run(strand, *op);
    if (found.empty()) return !op->op.schema().returns().empty();
    if (found.size() >= step.cells.size()) step.metas = std::move(found);
    return false;
  } catch (const c10::NotImplementedError&) {  // no kernel for the meta device
  } catch (const c10::Error& error) {          // the op throws it when it runs
    const std::string text = error.what_without_backtrace();
    if (!step.is_autocast())  // which casts arguments before
      step.refused = std::make_unique<std::string>(std::string(step.row.name) + ": " + text.substr(0, text.find('\n')));
  } catch (...) {  // Unknown, or an error of the standard library: nothing is known of its result until it has run
  }
  if (step.row.mutated != 0 && strand.reshapes) forget_shapes(strand);
  return false;
}

// Skips submitted steps: their arguments belong to another thread.
void find_before(Strand& strand, size_t end) {
  for (size_t i = strand.submitted(); i < end; ++i) {
    Step& step = *strand.step(i);
    if (step.metas.empty()) find_for(strand, step);
  }
}

size_t index_of(const Strand& strand, double code) {
  const double at = kPending - code - std::ldexp(static_cast<double>(strand.id), kPositionBits);
  return static_cast<size_t>(at) >> kCellBits;
}

bool is_elsewhere(const at::Tensor& tensor) { return tensor.defined() && !tensor.device().is_cpu(); }

// Calls `visit` with the step and those that it uses, until it returns true. Each once, without recursion: a chain may
// be long, and its parts used more than once.
template <class Visit>
void visit_used(const Step& last, const Visit& visit) {
  std::vector<const Step*> rest{&last};
  std::unordered_set<const Step*> seen{&last};
  while (!rest.empty()) {
    const Step& step = *rest.back();
    rest.pop_back();
    if (visit(step)) return;
    if (step.settled) continue;
    for (const Step* used : step.recording.uses()) {
      if (seen.insert(used).second) rest.push_back(used);
    }
  }
}

// The device that a step's arguments name, or that of a tensor among them or in its result.
c10::optional<c10::Device> named_device(const Step& step) {
  if (step.settled) {
    if (!step.cells.empty() && is_elsewhere(step.cells[0])) return step.cells[0].device();
    return c10::nullopt;
  }
  for (const IValue& value : step.arguments) {
    if (value.isDevice()) return value.toDevice();
    if (value.isTensor() && is_elsewhere(value.toTensor())) return value.toTensor().device();
    if (!value.isTensorList()) continue;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (is_elsewhere(tensor)) return tensor.device();
    }
  }
  return c10::nullopt;
}

// The device of an op's result: the requested one, or that of its tensors. A CPU tensor may be a number among others.
c10::Device device_of(const Step& last) {
  c10::Device device = c10::DeviceType::CPU;
  visit_used(last, [&device](const Step& step) {
    const auto named = named_device(step);
    if (named.has_value()) device = *named;
    return named.has_value();
  });
  return device;
}

}  // namespace

bool infer_metas(Strand& strand, Step& step) {
  find_before(strand, strand.size());
  return step.metas.empty() && find_for(strand, step);
}

at::Tensor result_meta(Strand& strand, double code) {
  Step* step = nullptr;
  const at::Tensor* cell = strand.cell(code, &step);
  if (cell == nullptr) return {};
  // A waiting or running step may reshape a computed result in place.
  if (step->settled) return strand.reshapes ? at::Tensor() : *cell;
  find_before(strand, strand.size());  // of all steps: later ones may reshape it in place
  if (are_forgotten(strand)) return {};
  const auto index = static_cast<size_t>(cell - step->cells.data());
  return index < step->metas.size() ? step->metas[index] : at::Tensor();
}

std::string refusal_of(Strand& strand, double code) {
  Step* step = nullptr;
  if (strand.cell(code, &step) == nullptr) return "";
  std::string text;
  visit_used(*step, [&text](const Step& used) {
    if (!used.settled && used.refused != nullptr) text = *used.refused;
    return !text.empty();
  });
  return text;
}

bool is_dtype_known(Strand& strand, double code) {
  Step* step = nullptr;
  if (strand.cell(code, &step) == nullptr) return false;
  bool known = true;
  visit_used(*step, [&known](const Step& used) {
    known = used.settled || !used.is_autocast();
    return !known;
  });
  return known;
}

std::string device_of(Strand& strand, double code) {
  Step* step = nullptr;
  const at::Tensor* cell = strand.cell(code, &step);
  if (cell == nullptr || (!step->settled && index_of(strand, code) < strand.submitted())) return "";
  if (!step->settled) return device_of(*step).str();
  return cell->defined() ? cell->device().str() : "";
}

}  // namespace ltn::async
