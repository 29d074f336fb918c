#include "native/ops/record.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "native/async/meta_results.h"
#include "native/convert/to_js.h"
#include "native/ops/operator_of.h"
#include "native/ops/read_arguments.h"
#include "native/ops/replay.h"

namespace ltn {
namespace {

using c10::IValue;
using c10::TypeKind;

bool gives_tensors_only(const c10::FunctionSchema& schema) {
  for (const c10::Argument& result : schema.returns()) {
    if (result.type()->kind() != TypeKind::TensorType) return false;
  }
  return true;
}

bool gives_list(const c10::FunctionSchema& schema) {
  if (schema.returns().size() != 1) return false;
  const c10::TypePtr& type = schema.returns()[0].type();
  return type->kind() == TypeKind::ListType &&
         type->castRaw<c10::ListType>()->getElementType()->kind() == TypeKind::TensorType;
}

// Factories such as torch.zeros: like torch.tensor, they return computed tensors, e.g. for torch.keep. Random ones are
// recorded, in order with other ops.
bool runs_immediately(const OpRow& row) {
  const std::string_view schema = row.schema;
  const std::string_view arguments = schema.substr(0, schema.find("->"));
  const std::string_view name = row.name;
  return arguments.find("Device? device") != arguments.npos && arguments.find("Tensor") == arguments.npos &&
         name.find("rand") == name.npos && name.find("normal") == name.npos;
}

// What a recording must know of an op.
struct RecordedOp {
  explicit RecordedOp(const OpRow& row)
      : gives_scheme(std::strstr(row.schema, "-> QScheme") != nullptr),
        runs_immediately(ltn::runs_immediately(row)),
        op(operator_of(row)) {
    if (!op.has_value()) return;
    tensors_only = gives_tensors_only(op->schema());
    list = gives_list(op->schema());
    is_factory = below_autograd_of(*op) == BelowAutograd::kFactory;
  }

  const bool gives_scheme, runs_immediately;
  const c10::optional<c10::OperatorHandle> op;
  bool tensors_only = false, list = false;  // its results
  bool is_factory = false;
};

// Of "aten::add.Tensor" of the op table. Remembers what it found, by row, since the search makes strings and takes
// locks; rows and the ops that libtorch registers itself stay for the life of the process.
const RecordedOp& find_op(const OpRow& row) {
  thread_local std::unordered_map<const OpRow*, RecordedOp> found;
  const auto known = found.find(&row);
  return known != found.end() ? known->second : found.emplace(&row, RecordedOp(row)).first->second;
}

// Whether only results that are tensors can be used: the code that follows cannot use others.
bool needs_tensor_results(uint32_t recording) {
  return recording == handles::Flags::kTensorOps || recording == handles::Flags::kBody;
}

// Refuses a read that depends on recorded steps: `what` is a property of an existing tensor.
[[noreturn]] void refuse_stale_read(const std::string& what) {
  throw CodedError("ERR_TORCH_PENDING",
                   "ops recorded earlier in this torch.run write to tensors and have not run, so " + what +
                       " is not up to date: await their results, or read it after torch.run has resolved");
}

bool is_one_of(std::string_view name, std::initializer_list<const char*> names) {
  for (const char* each : names) {
    if (name == each) return true;
  }
  return false;
}

napi_value value_to_js(Call& call, const IValue& value) {
  if (value.isTensor()) return write_element(call, at::Tensor(value.toTensor()));
  if (value.isScalar()) return write_scalar(call, value.toScalar());
  if (value.isString()) return write_string(call, value.toStringRef());
  if (value.isGenerator()) return write_generator(call, value.toGenerator());
  if (value.isNone()) {
    napi_value null = nullptr;
    check(call.env, napi_get_null(call.env, &null));
    return null;
  }
  TORCH_CHECK(value.isList(), "no JavaScript value for ", value.tagKind());
  const auto list = value.toListRef();
  napi_value array = new_array(call, list.size());
  for (size_t i = 0; i < list.size(); ++i) set_element(call, array, i, value_to_js(call, list[i]));
  return array;
}

}  // namespace

namespace {

bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return false;
  if (!a.has_storage() || !b.has_storage()) return true;  // sparse ones are not examined
  return a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
}

// Ops that may return their argument, or a view of it, although their schema does not say so: without overloads.
constexpr std::initializer_list<const char*> kMayReturnArgument = {
    "aten::dropout",
    "aten::feature_dropout",
    "aten::alpha_dropout",
    "aten::feature_alpha_dropout",
    "aten::type_as",
    "aten::atleast_1d",
    "aten::atleast_2d",
    "aten::atleast_3d",
    "aten::conj_physical",
    "aten::_unsafe_view",
    "aten::rrelu",
    "aten::cartesian_prod",
    "aten::to_dense",
    "aten::sum_to_size",
    "aten::einsum",
    "aten::dequantize",
    "aten::align_as",
    "aten::lift",
    "aten::data",
    "aten::flatten_dense_tensors",
    "aten::_cast_Byte",
    "aten::_cast_Char",
    "aten::_cast_Double",
    "aten::_cast_Float",
    "aten::_cast_Int",
    "aten::_cast_Long",
    "aten::_cast_Short",
    "aten::_cast_Half",
    "aten::copy",
    "aten::set",
    "aten::_saturate_weight_to_fp16",
};

}  // namespace

bool may_be_view(const async::Step& step) {
  const auto* op = dynamic_cast<const async::OpStep*>(&step);
  if (op == nullptr) return true;
  const std::string_view name = op->row.name;
  if (is_one_of(name.substr(0, name.find('.')), kMayReturnArgument)) return true;
  for (const c10::Argument& result : op->op.schema().returns()) {
    if (result.alias_info() != nullptr || result.type()->kind() != TypeKind::TensorType) return true;
  }
  return false;
}

namespace {

// For a step that may be running: reads only what does not change in the meantime.
bool may_write_to(Call& call, const async::Step& step, const at::Tensor& tensor) {
  for (const handles::Handle handle : step.mutated) {
    const at::Tensor* given = call.state.slots().find(handle);
    if (given == nullptr || share_memory(*given, tensor)) return true;
  }
  for (const async::Step* used : step.recording.uses()) {
    if (!used->settled) {
      if (may_be_view(*used)) return true;
      continue;
    }
    for (const at::Tensor& cell : used->cells) {
      if (share_memory(cell, tensor)) return true;
    }
  }
  return false;
}

}  // namespace

void require_up_to_date(Call& call) {
  const std::string_view name = call.row->name;
  const bool body = call.state.flags().recording == handles::Flags::kBody;
  if (body && is_one_of(name, {"aten::equal", "aten::allclose"})) {
    throw CodedError(
        "ERR_TORCH_PENDING",
        "inside the function of torch.run it would block the event loop: expected a call on the object that torch.run "
        "passes to it, as in `await t." +
            std::string(name.substr(6)) + "(a, b)`");
  }
  const bool reads =
      is_one_of(name, {"aten::equal", "aten::allclose", "aten::item", "aten::_local_scalar_dense", "aten::is_nonzero",
                       "copyInto", "grad", "setGrad", "gradFnName", "requiresGrad", "strandRequireRead"});
  const bool reads_shape = is_one_of(name, {"shape", "strides", "numel", "ndim", "storageBytes", "storageOffset",
                                            "storage", "aten::size.int", "aten::stride.int"});
  // These read everything that a tensor was computed from, what a function of the program captures, or all of a model.
  const bool reads_graph =
      is_one_of(name, {"autograd.grad", "autograd.backward", "functionBegin", "nn.parallel.DistributedDataParallel",
                       "ScriptModule.save", "ScriptModule.deepCopy"});
  if (!reads && !reads_shape && !reads_graph) return;
  async::Strand* strand = nullptr;
  try {
    strand = &call.state.current_strand();
  } catch (const CodedError&) {  // its torch.run has ended: nothing is pending
    return;
  }
  if (reads_graph) {
    for (size_t i = 0; strand->writes && i < strand->size(); ++i) {
      const async::Step& step = *strand->step(i);
      if (!step.settled && step.may_write()) refuse_stale_read("a value");
    }
    return;
  }
  if (!(strand->writes && reads) && !(strand->reshapes && reads_shape)) return;
  double handle = 0;
  if (call.count == 0 || napi_get_value_double(call.env, call.arguments[0], &handle) != napi_ok || !(handle > 0))
    return;
  const at::Tensor* tensor = call.state.slots().find(static_cast<handles::Handle>(handle));
  if (tensor == nullptr) return;  // the call itself reports it
  const bool of_gradient = name == "grad" || name == "setGrad";
  for (size_t i = 0; i < strand->size(); ++i) {
    const async::Step& step = *strand->step(i);
    if (step.settled || !step.may_write()) continue;
    const bool everywhere = (step.row.mutated & OpRow::kWritesElsewhere) != 0;
    if (everywhere ? of_gradient : may_write_to(call, step, *tensor)) {
      refuse_stale_read(reads ? "the value" : "the " + std::string(name));
    }
  }
}

namespace {

bool captures(Call& call) {
  try {
    return call.state.current_strand().captures;
  } catch (const CodedError&) {  // its function has ended
    return false;
  }
}

// What a captured function may call besides ops: it changes nothing, or only while the function runs, and what it
// returns follows from what the capture depends on.
constexpr std::initializer_list<const char*> kCapturable = {"isLive",
                                                            "gradEnabled",
                                                            "setGradEnabled",
                                                            "inferenceEnabled",
                                                            "inferenceEnter",
                                                            "inferenceExit",
                                                            "autocastEnabled",
                                                            "autocastDtype",
                                                            "autocastHasHalf",
                                                            "autocastCaches",
                                                            "autocastClearCache",
                                                            "getDefaultDtype",
                                                            "scopeOpen",
                                                            "scopeClose",
                                                            "scopeEnter",
                                                            "scopeCurrent",
                                                            "scopeIsOpen",
                                                            "scopeParent",
                                                            "scopeOf",
                                                            "strandMeta",
                                                            "strandEnter",
                                                            "strandClose",
                                                            "isDetachable",
                                                            "newBytes",
                                                            "fillBytes",
                                                            "guards",
                                                            "allocatedBytes",
                                                            "allocations",
                                                            "version",
                                                            "enums"};

// Properties of a tensor, which a replay depends on if the function has read them.
constexpr std::initializer_list<const char*> kProperties = {"shape",
                                                            "strides",
                                                            "numel",
                                                            "ndim",
                                                            "dtype",
                                                            "layout",
                                                            "device",
                                                            "itemSize",
                                                            "requiresGrad",
                                                            "names",
                                                            "aten::size.int",
                                                            "aten::stride.int",
                                                            "aten::is_floating_point",
                                                            "aten::is_complex",
                                                            "aten::is_signed",
                                                            "aten::is_same_size",
                                                            "aten::__is_floating_point",
                                                            "aten::dim"};

void note_examined(Call& call) {
  if (!captures(call)) return;
  auto& examined = call.state.current_strand().examined;
  for (size_t i = 0; i < call.count; ++i) {
    double handle = 0;
    if (napi_get_value_double(call.env, call.arguments[i], &handle) != napi_ok || !(handle > 0)) continue;
    const at::Tensor* tensor = call.state.slots().find(static_cast<handles::Handle>(handle));
    if (tensor != nullptr) examined.emplace(tensor->unsafeGetTensorImpl(), *tensor);
  }
}

}  // namespace

void require_capturable(Call& call) {
  const std::string_view name = call.row->name;
  if (is_one_of(name, kProperties)) return note_examined(call);
  if (is_one_of(name, kCapturable) || name.substr(0, 5) == "watch" || name.substr(0, 5) == "audit") return;
  if (!captures(call)) return;
  throw CodedError("ERR_TORCH_CAPTURE",
                   "cannot be replayed: it reads a tensor's value, or changes state other than an op's result");
}

bool is_recorded(Call& call) {
  // Functions of the library's own classes are not ops, and a quantization scheme has no type of its own when boxed.
  if (!call.is_op || std::strncmp(call.row->name, "aten::", 6) != 0) {
    require_capturable(call);
    require_up_to_date(call);
    return false;
  }
  const RecordedOp& op = find_op(*call.row);
  if (op.gives_scheme) return false;
  if (!needs_tensor_results(call.state.flags().recording)) return true;
  if (call.state.flags().recording == handles::Flags::kBody && op.runs_immediately) return captures(call);
  if (op.tensors_only || op.list) return true;
  require_capturable(call);
  require_up_to_date(call);
  return false;
}

namespace {

bool is_defined(const at::Tensor& tensor) { return tensor.defined(); }

// The results as known in advance; an error if the caller cannot continue without them.
napi_value record_list(Call& call, async::Strand& strand, std::unique_ptr<async::OpStep> step) {
  handles::Flags& flags = call.state.flags();
  const bool is_empty = async::infer_metas(strand, *step);
  const std::vector<at::Tensor> all = is_empty ? std::vector<at::Tensor>() : step->metas;
  const bool known = is_empty || std::all_of(all.begin(), all.end(), is_defined);
  if (!known && needs_tensor_results(flags.recording)) {
    throw CodedError("ERR_TORCH_PENDING",
                     "the number of its results is not known before it has run: await it, as in `await t.unbind(x)` on "
                     "the object that torch.run passes to its function");
  }
  async::OpStep& list = *step;
  flags.result = strand.add(std::move(step));
  if (!known) {
    flags.recording = handles::Flags::kRecordedValue;
    return nullptr;
  }
  constexpr size_t kMax = size_t{1} << async::kCellBits;
  napi_value array = new_array(call, all.size());
  for (size_t first = 0; first < all.size(); first += kMax) {
    const size_t count = std::min(kMax, all.size() - first);
    auto part = std::make_unique<async::PartStep>(*call.row, strand, list, all.size(), first, count);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    part->metas.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    const double code = strand.add(std::move(part));
    for (size_t i = 0; i < count; ++i) {
      set_element(call, array, first + i, write_double(call, code - static_cast<double>(i)));
    }
  }
  return array;
}

}  // namespace

napi_value record(Call& call) {
  const RecordedOp& recorded = find_op(*call.row);
  const auto& op = recorded.op;
  if (!op) throw CodedError("ERR_TORCH_NOT_IMPLEMENTED", "libtorch's dispatcher does not know this op");
  async::Strand& strand = call.state.current_strand();
  auto step = std::make_unique<async::OpStep>(*call.row, *op, strand, recorded.is_factory);
  read_arguments(call, *step);
  if (recorded.list) return record_list(call, strand, std::move(step));
  const size_t count = op->schema().returns().size();
  if (recorded.tensors_only) step->cells.resize(count);
  handles::Flags& flags = call.state.flags();
  const double code = strand.add(std::move(step));
  flags.result = code;
  if (count == 0 || (count == 1 && recorded.tensors_only)) return nullptr;
  if (!recorded.tensors_only) {
    flags.recording = handles::Flags::kRecordedValue;
    return nullptr;
  }
  napi_value array = new_array(call, count);
  for (size_t i = 0; i < count; ++i) set_element(call, array, i, write_double(call, code - static_cast<double>(i)));
  return array;
}

napi_value take_result(Call& call, async::Step& step) {
  if (step.taken) throw CodedError("ERR_TORCH_INTERNAL", "the result was taken already");
  step.taken = true;
  if (step.result.empty()) return nullptr;
  const torch::jit::Stack result = std::move(step.result);
  step.result.clear();
  if (result.size() > 1) {
    napi_value array = new_array(call, result.size());
    for (size_t i = 0; i < result.size(); ++i) set_element(call, array, i, value_to_js(call, result[i]));
    return array;
  }
  if (result[0].isTensor()) return write_result(call, at::Tensor(result[0].toTensor()));
  return value_to_js(call, result[0]);
}

}  // namespace ltn
