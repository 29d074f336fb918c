// Queries of the slot table for lib/observe/logger.ts, lib/observe/debug.ts, lib/testing and
// lib/metrics/allocations.ts: the live tensors as numbers, the watch's records, and new large tensors.
#include <cmath>
#include <cstring>
#include <unordered_set>
#include <utility>
#include <vector>

#include "native/audit/sites.h"
#include "native/exports/exports.h"
#include "native/handles/graph_census.h"
#include "native/handles/large_births.h"

namespace ltn {
namespace {

double read_number(Call& call, size_t index) { return read_double(call, call.arguments[index], index); }

napi_value float64_array(Call& call, const std::vector<double>& values) {
  auto array = Napi::Float64Array::New(call.env, values.size());
  if (!values.empty()) std::memcpy(array.Data(), values.data(), values.size() * sizeof(double));
  return array;
}

// watchConfigure(on, sampleBytes, deaths)
napi_value configure(Call& call) {
  const bool on = read_bool(call, call.arguments[0], 0);
  const double bytes = read_number(call, 1);
  const bool deaths = read_bool(call, call.arguments[2], 2);
  call.state.slots().configure_watch(on, bytes > 0 ? static_cast<uint64_t>(bytes) : 0, deaths);
  return nullptr;
}

// watchDefineSite(json) -> id, 0 when there are too many
napi_value define_site(Call& call) {
  handles::Watch* watch = call.state.slots().watch();
  const uint32_t id = watch == nullptr ? 0 : watch->define_site(read_string(call, call.arguments[0], 0));
  return write_double(call, id);
}

// watchSite(id) -> json, "" when unknown
napi_value site(Call& call) {
  const handles::Watch* watch = call.state.slots().watch();
  return write_string(call, watch == nullptr ? "" : watch->site(static_cast<uint32_t>(read_number(call, 0))));
}

// watchTag(site): the stack of the tensors that wait for one
napi_value tag(Call& call) {
  if (handles::Watch* watch = call.state.slots().watch())
    watch->tag_waiting(static_cast<uint32_t>(read_number(call, 0)));
  return nullptr;
}

// watchAnnounce(cause, site): the reason for the following frees
napi_value announce(Call& call) {
  handles::Watch* watch = call.state.slots().watch();
  if (watch == nullptr) return nullptr;
  const auto cause = static_cast<uint8_t>(read_number(call, 0));
  if (cause > static_cast<uint8_t>(handles::Watch::Cause::Scope)) {
    throw BadArgument(0, "a cause", describe_value(call.env, call.arguments[0]));
  }
  watch->announce(static_cast<handles::Watch::Cause>(cause), static_cast<uint32_t>(read_number(call, 1)));
  return nullptr;
}

// watchDeath(handle) -> [site of birth, cause, site of the free], or undefined
napi_value death(Call& call) {
  const handles::Watch* watch = call.state.slots().watch();
  const auto* known = watch == nullptr ? nullptr : watch->death(static_cast<uint64_t>(read_number(call, 0)));
  if (known == nullptr) return nullptr;
  const double values[] = {static_cast<double>(known->born_at), static_cast<double>(known->cause),
                           static_cast<double>(known->freed_at)};
  napi_value array = new_array(call, 3);
  for (size_t i = 0; i < 3; ++i) set_element(call, array, i, write_double(call, values[i]));
  return array;
}

// setErrorSink(sink): called with each error of native code and the handle of the tensor that was disposed, or 0
napi_value set_error_sink(Call& call) {
  call.state.set_error_sink(call.arguments[0]);
  return nullptr;
}

// watchRead() -> { tensors, storages, devices }: per tensor handle, dtype, index in devices, age in ms (NaN if
// unknown), site, index of its first storage in `storages`, and number of storages; per storage id and bytes.
napi_value read(Call& call) {
  handles::SlotTable& slots = call.state.slots();
  const handles::Watch* watch = slots.watch();
  std::vector<double> tensors;
  std::vector<double> storages;
  std::vector<c10::Device> devices;
  tensors.reserve(slots.live() * 7);
  storages.reserve(slots.live() * 2);
  const double now = handles::Watch::now_ms();
  slots.for_each([&](handles::Handle handle, const handles::TensorFacts& facts,
                     accounting::StorageEntry* const* entries, size_t count) {
    const c10::Device device = facts.device;
    size_t place = 0;
    while (place < devices.size() && devices[place] != device) ++place;
    if (place == devices.size()) devices.push_back(device);
    const auto* birth = watch == nullptr ? nullptr : watch->birth(handle, handles::SlotTable::index_of(handle));
    const double age = birth == nullptr ? std::nan("") : now - birth->ms;
    const double row[] = {
        static_cast<double>(handle),          static_cast<double>(facts.dtype),         static_cast<double>(place), age,
        birth == nullptr ? 0.0 : birth->site, static_cast<double>(storages.size() / 2), static_cast<double>(count)};
    tensors.insert(tensors.end(), std::begin(row), std::end(row));
    for (size_t i = 0; i < count; ++i) {
      storages.push_back(static_cast<double>(entries[i]->id));
      storages.push_back(static_cast<double>(entries[i]->bytes));
    }
  });
  napi_value names = new_array(call, devices.size());
  for (size_t i = 0; i < devices.size(); ++i) set_element(call, names, i, write_string(call, devices[i].str()));
  Napi::Object result = Napi::Object::New(call.env);
  result.Set("tensors", float64_array(call, tensors));
  result.Set("storages", float64_array(call, storages));
  result.Set("devices", names);
  return result;
}

// watchGraphs() -> [nodes, handle], or undefined while the pool may write to tensors: how many nodes of autograd graphs
// the live tensors reach, at most kMostNodes, and the tensor that reaches most of those that none before it does (0:
// none).
napi_value graphs(Call& call) {
  constexpr size_t kMostNodes = 1'000'000;
  handles::SlotTable& slots = call.state.slots();
  if (slots.lends()) return nullptr;
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<const torch::autograd::Node*> next;
  size_t most = 0;
  handles::Handle reaches_most = 0;
  slots.for_each([&](handles::Handle handle, const handles::TensorFacts&, accounting::StorageEntry* const*, size_t) {
    const size_t before = seen.size();
    const at::Tensor* tensor = slots.find(handle);
    if (tensor != nullptr && handles::has_graph(*tensor)) next.push_back(handles::graph_of(*tensor));
    while (!next.empty() && seen.size() < kMostNodes) {
      const torch::autograd::Node* node = next.back();
      next.pop_back();
      if (!seen.insert(node).second) continue;
      for (const torch::autograd::Edge& edge : node->next_edges()) {
        if (edge.function != nullptr) next.push_back(edge.function.get());
      }
    }
    next.clear();
    if (seen.size() - before <= most) return;
    most = seen.size() - before;
    reaches_most = handle;
  });
  napi_value array = new_array(call, 2);
  set_element(call, array, 0, write_double(call, static_cast<double>(seen.size())));
  set_element(call, array, 1, write_double(call, static_cast<double>(reaches_most)));
  return array;
}

// auditTellCapture(): reports this environment's tensors to a recording that began.
napi_value report_to_capture(Call& call) {
  call.state.slots().report_to_capture();
  return nullptr;
}

// auditSites() -> per live tensor its handle, the audit's site (0 if unknown) and its scope (0: none)
napi_value sites_of(Call& call) {
  handles::SlotTable& slots = call.state.slots();
  std::vector<double> rows;
  rows.reserve(slots.live() * 3);
  slots.for_each([&](handles::Handle handle, const handles::TensorFacts&, accounting::StorageEntry* const*, size_t) {
    const double row[] = {static_cast<double>(handle), static_cast<double>(audit::site_of(slots.record_of(handle))),
                          static_cast<double>(slots.scope_of(handle))};
    rows.insert(rows.end(), std::begin(row), std::end(row));
  });
  return float64_array(call, rows);
}

// auditSite(site) -> json, "" when unknown
napi_value audit_site(Call& call) {
  return write_string(call, audit::site_text(static_cast<uint32_t>(read_number(call, 0))));
}

// auditCensus(collected): reports what autograd graphs hold to a running capture. `collected`: right after a full
// collection.
napi_value census(Call& call) {
  call.state.slots().take_census(read_bool(call, call.arguments[0], 0));
  return nullptr;
}

// watchLarge(bytes): the size from which a new storage is large; negative: none is
napi_value watch_large(Call& call) {
  const double bytes = read_number(call, 0);
  handles::LargeBirths::of_thread().set_threshold(bytes < 0 ? handles::LargeBirths::kOff
                                                            : static_cast<uint64_t>(bytes));
  return nullptr;
}

// watchTakeLarge() -> handles of tensors with a new large storage since the last call
napi_value take_large(Call& call) {
  const auto handles = handles::LargeBirths::of_thread().take(call.state.number());
  return float64_array(call, std::vector<double>(handles.begin(), handles.end()));
}

const Export kWatchExports[] = {
    exported_body<&configure, 3>("watchConfigure", "watchConfigure(bool on, float sampleBytes, bool deaths) -> ()"),
    exported_body<&define_site, 1>("watchDefineSite", "watchDefineSite(str json) -> int"),
    exported_body<&site, 1>("watchSite", "watchSite(int site) -> str"),
    exported_body<&tag, 1>("watchTag", "watchTag(int site) -> ()"),
    exported_body<&announce, 2>("watchAnnounce", "watchAnnounce(int cause, int site) -> ()"),
    exported_body<&death, 1>("watchDeath", "watchDeath(int handle) -> int[]"),
    exported_body<&set_error_sink, 1>("setErrorSink", "setErrorSink(function sink) -> ()"),
    exported_body<&read, 0>("watchRead", "watchRead() -> object"),
    exported_body<&graphs, 0>("watchGraphs", "watchGraphs() -> int[]"),
    exported_body<&watch_large, 1>("watchLarge", "watchLarge(float bytes) -> ()"),
    exported_body<&report_to_capture, 0>("auditTellCapture", "auditTellCapture() -> ()"),
    exported_body<&sites_of, 0>("auditSites", "auditSites() -> object"),
    exported_body<&audit_site, 1>("auditSite", "auditSite(int site) -> str"),
    exported_body<&census, 1>("auditCensus", "auditCensus(bool collected) -> ()"),
    exported_body<&take_large, 0>("watchTakeLarge", "watchTakeLarge() -> object"),
};

}  // namespace

ExportList watch_exports() { return {kWatchExports, std::size(kWatchExports)}; }

}  // namespace ltn
