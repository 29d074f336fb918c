// DistributedDataParallel and SyncBatchNorm (lib/nn/parallel), ZeroRedundancyOptimizer (lib/optim). Everything here
// runs on the JS thread, and waits for other ranks where said.
#include "native/distributed/reducer.h"

#include <memory>
#include <utility>
#include <vector>

#include "native/distributed/open.h"
#include "native/exports/exports.h"
#include "native/exports/owned_external.h"

namespace ltn {
namespace {

using GroupPointer = std::shared_ptr<distributed::Group>;

// Runs `use`, and gives failures of c10d and its backend one of the codes for them.
template <class Use>
auto reported(const Use& use) {
  const distributed::Library& library = distributed::library();
  try {
    return use(library);
  } catch (const BadArgument&) {
    throw;
  } catch (const std::exception&) {
    const distributed::Failure failure = library.failure(std::current_exception());
    throw CodedError(failure.timed_out ? "ERR_TORCH_TIMEOUT" : "ERR_TORCH_DISTRIBUTED", failure.message);
  }
}

std::vector<at::Tensor> tensors(Call& call, size_t index) {
  const auto list = read_list<at::Tensor>(call, call.arguments[index], index);
  return {list.begin(), list.end()};
}

// The owner of a reducer. Lifetime: JavaScript's value, which lib/nn/parallel holds until no backward is in progress;
// the group is alive as long, because the reducer uses it. Thread: the JS thread.
struct OwnedReducer {
  std::unique_ptr<distributed::Reducer> reducer;
  GroupPointer group;
};

distributed::Reducer& reducer_of(Call& call) {
  auto& owner = owned_by<OwnedReducer>(call, 0);
  if (owner.reducer == nullptr) throw CodedError("ERR_TORCH_DISPOSED", "the module was disposed");
  return *owner.reducer;
}

// Waits until all ranks have called it.
napi_value reducer_open(Call& call) {
  const GroupPointer group = owned_by<GroupPointer>(call, 0);
  distributed::ReducerOptions options;
  options.parameters = tensors(call, 1);
  const auto sparse = read_list<bool>(call, call.arguments[2], 2);
  options.sparse.assign(sparse.begin(), sparse.end());
  const int64_t bytes = read_int(call, call.arguments[3], 3);
  if (bytes > 0) options.bucket_bytes = bytes;
  options.find_unused = read_bool(call, call.arguments[4], 4);
  options.gradient_as_bucket_view = read_bool(call, call.arguments[5], 5);
  options.static_graph = read_bool(call, call.arguments[6], 6);
  const uint32_t count = list_length(call, call.arguments[7], 7, "a list of names");
  for (uint32_t i = 0; i < count; ++i) {
    options.names.push_back(read_string(call, list_element(call, call.arguments[7], i), 7));
  }
  auto reducer = reported([&](const auto& library) { return library.reducer(*group, options); });
  return owned_external(call, OwnedReducer{std::move(reducer), group});
}

// Waits until all ranks have called it.
napi_value verify(Call& call) {
  const auto list = tensors(call, 1);
  reported([&](const auto& library) { library.verify_parameters(*owned_by<GroupPointer>(call, 0), list); });
  return nullptr;
}

// Waits until all ranks have called it.
napi_value broadcast(Call& call) {
  const auto list = tensors(call, 1);
  const auto root = static_cast<int>(read_int(call, call.arguments[2], 2));
  reported([&](const auto& library) { library.broadcast_coalesced(*owned_by<GroupPointer>(call, 0), list, root); });
  return nullptr;
}

// Waits for all ranks at the second call.
napi_value before_forward(Call& call) {
  distributed::Reducer& reducer = reducer_of(call);
  const bool reduces = read_bool(call, call.arguments[1], 1);
  reported([&](const auto&) {
    if (reduces) reducer.prepare_for_forward();
    reducer.rebuild_buckets();
  });
  return nullptr;
}

napi_value before_backward(Call& call) {
  distributed::Reducer& reducer = reducer_of(call);
  const auto outputs = tensors(call, 1);
  reported([&](const auto&) { reducer.prepare_for_backward(outputs); });
  return nullptr;
}

napi_value sink(Call& call) {
  std::vector<at::Tensor> made = reducer_of(call).through_sink(tensors(call, 1));
  napi_value list = new_array(call, made.size());
  for (size_t i = 0; i < made.size(); ++i) set_element(call, list, i, write_element(call, std::move(made[i])));
  return list;
}

// Frees the buckets and removes the hooks. No backward may be in progress.
napi_value reducer_close(Call& call) {
  auto& owner = owned_by<OwnedReducer>(call, 0);
  owner.reducer.reset();
  owner.group.reset();
  return nullptr;
}

// Waits until all ranks have called it.
napi_value batch_norm(Call& call) {
  const auto optional = [&call](size_t index) {
    return is_null_tensor(call, call.arguments[index]) ? at::Tensor() : call.tensor(call.arguments[index], index);
  };
  distributed::BatchNormOptions options;
  options.input = call.tensor(call.arguments[1], 1);
  options.weight = optional(2);
  options.bias = optional(3);
  options.running_mean = optional(4);
  options.running_var = optional(5);
  options.momentum = read_double(call, call.arguments[6], 6);
  options.eps = read_double(call, call.arguments[7], 7);
  const GroupPointer group = owned_by<GroupPointer>(call, 0);
  return write_element(call, reported([&](const auto& library) { return library.batch_norm(group, options); }));
}

template <Body body, size_t count>
constexpr Export reducer_export(const char* name, const char* schema) {
  Export made = exported_body<body, count>(name, schema);
  made.row.name = "nn.parallel.DistributedDataParallel";  // in messages
  return made;
}

// The same for the parameters of an optimizer.
constexpr Export broadcast_of_zero() {
  Export made =
      exported_body<&broadcast, 3>("zeroBroadcast", "zeroBroadcast(external group, Tensor[] tensors, int root) -> ()");
  made.row.name = "distributed.optim.ZeroRedundancyOptimizer.step";  // in messages
  return made;
}

const Export kReducerExports[] = {
    reducer_export<&reducer_open, 8>("reducerOpen",
                                     "reducerOpen(external group, Tensor[] parameters, bool[] sparse, int bucketBytes, "
                                     "bool findUnused, bool bucketViews, bool isStatic, str[] names) -> external"),
    reducer_export<&verify, 2>("reducerVerify", "reducerVerify(external group, Tensor[] parameters) -> ()"),
    reducer_export<&broadcast, 3>("reducerBroadcast",
                                  "reducerBroadcast(external group, Tensor[] tensors, int root) -> ()"),
    broadcast_of_zero(),
    reducer_export<&before_forward, 2>("reducerBeforeForward",
                                       "reducerBeforeForward(external reducer, bool reduces) -> ()"),
    reducer_export<&before_backward, 2>("reducerBeforeBackward",
                                        "reducerBeforeBackward(external reducer, Tensor[] outputs) -> ()"),
    reducer_export<&sink, 2>("reducerSink", "reducerSink(external reducer, Tensor[] outputs) -> Tensor[]"),
    reducer_export<&reducer_close, 1>("reducerClose", "reducerClose(external reducer) -> ()"),
    ltn::exported_body<&batch_norm, 8>("syncBatchNorm",
                                       "syncBatchNorm(external group, Tensor input, Tensor? weight, Tensor? bias, "
                                       "Tensor? running_mean, Tensor? running_var, float momentum, float eps) -> "
                                       "Tensor"),
};

}  // namespace

ExportList reducer_exports() { return {kReducerExports, std::size(kReducerExports)}; }

}  // namespace ltn
