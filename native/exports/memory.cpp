// torch.memory().
#include <cstdlib>  // defines __GLIBC__
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <optional>

#include "native/accounting/cpu_allocator.h"
#include "native/accounting/storage_ledger.h"
#include "native/cuda/caching_allocator.h"
#include "native/env/free_memory.h"
#include "native/env/weak_value.h"
#include "native/exports/exports.h"
#include "native/exports/owned_external.h"
#include "native/share/token_table.h"
#include "native/v8/flags.h"
#include "native/v8/scavenges.h"

namespace ltn {
namespace {

void set_number(Napi::Object object, const char* name, uint64_t value) { object.Set(name, static_cast<double>(value)); }

// Memory held by libtorch's allocators on one device, if known.
struct Held {
  bool known = false;
  uint64_t bytes = 0, peak = 0;
};

Held held_on(const c10::Device& device) {
  if (device.is_cpu()) {
    const auto totals = accounting::cpu_allocator_totals();
    return {true, totals.allocated_bytes, totals.peak_allocated_bytes};
  }
  if (device.is_cuda() && cuda::has_caching_allocator()) {
    const cuda::DeviceMemory memory = cuda::device_memory(device.index());
    return {true, memory.allocated_bytes, memory.peak_allocated_bytes};
  }
  return {};
}

// The CPU, every device with a handle, and every CUDA device whose allocator holds or held memory.
std::vector<accounting::DeviceTotals> all_devices(std::vector<accounting::DeviceTotals> seen) {
  const auto add = [&](const c10::Device& device) {
    const std::string name = device.str();
    const auto is_it = [&](const accounting::DeviceTotals& other) { return other.device == name; };
    if (std::none_of(seen.begin(), seen.end(), is_it)) seen.push_back({name, 0, 0, 0});
  };
  add(c10::Device(c10::kCPU));
  if (!cuda::is_started()) return seen;
  for (int64_t i = 0; i < cuda_device_count(); ++i) {
    const c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(i));
    if (held_on(device).peak != 0) add(device);
  }
  return seen;
}

std::vector<audit::DeviceFigures> figures_of(const std::vector<accounting::DeviceTotals>& seen) {
  std::vector<audit::DeviceFigures> figures;
  for (const auto& device : all_devices(seen)) {
    // Other backends' allocators are not queried: only the bytes held by handles are known.
    const Held asked = held_on(c10::Device(device.device));
    const Held held = asked.known ? asked : Held{true, device.bytes, device.bytes};
    figures.push_back({device.device, device.tensors, device.storages, device.bytes, held.bytes, held.peak});
  }
  return figures;
}

napi_value memory(Call& call) {
  share::sweep_expired();
  const auto ledger = accounting::ledger_totals();
  Napi::Object result = Napi::Object::New(call.env);
  set_number(result, "tensors", ledger.tensors);
  set_number(result, "storages", ledger.storages);
  set_number(result, "bytes", ledger.bytes);
  set_number(result, "tokens", share::process_tokens().totals().tokens);
  Napi::Object devices = Napi::Object::New(call.env);
  uint64_t allocated = 0, peak = 0;
  for (const audit::DeviceFigures& device : figures_of(ledger.devices)) {
    allocated += device.allocated_bytes;
    peak += device.peak_allocated_bytes;
    Napi::Object entry = Napi::Object::New(call.env);
    set_number(entry, "tensors", device.tensors);
    set_number(entry, "storages", device.storages);
    set_number(entry, "bytes", device.bytes);
    set_number(entry, "allocatedBytes", device.allocated_bytes);
    set_number(entry, "peakAllocatedBytes", device.peak_allocated_bytes);
    devices.Set(device.name, entry);
  }
  set_number(result, "allocatedBytes", allocated);
  set_number(result, "peakAllocatedBytes", peak);
  set_number(result, "cachedBytes", accounting::cpu_kept_bytes());
  result.Set("devices", devices);
  return result;
}

// The bytes reported to V8 for this environment, after settling: for tests and doctors.
napi_value reported_bytes(Call& call) {
  call.state.external().flush();
  return write_double(call, static_cast<double>(call.state.external().reported()));
}

// 0 or more bytes, or null for no limit.
napi_value set_memory_limit(Call& call) {
  if (is_absent(call, 0)) {
    accounting::set_memory_limit(accounting::kNoLimit);
  } else {
    const int64_t bytes = read_int(call, call.arguments[0], 0);
    if (bytes < 0) throw BadArgument(0, "bytes, 0 or more", std::to_string(bytes));
    accounting::set_memory_limit(static_cast<uint64_t>(bytes));
  }
  return nullptr;
}

napi_value memory_limit(Call& call) {
  const uint64_t limit = accounting::memory_limit();
  return write_double(call, limit == accounting::kNoLimit ? -1 : static_cast<double>(limit));
}

napi_value allocated_bytes(Call& call) {
  return write_double(call, static_cast<double>(accounting::cpu_allocated_bytes()));
}

napi_value allocations(Call& call) { return write_double(call, static_cast<double>(accounting::cpu_allocations())); }

napi_value set_collectors(Call& call) {
  call.state.set_collectors(call.arguments[0], call.arguments[1]);
  return nullptr;
}

// freeQueued(): for the scavenge before an op.
napi_value free_queued(Call& call) {
  ltn::free_queued(call.state);
  return nullptr;
}

// deleteReleased(): the references to JavaScript's values that libtorch has released since the event loop's last turn.
napi_value delete_released(Call& call) {
  call.state.releases()->drain();
  return nullptr;
}

// weakValue(value): an owner of a reference that does not keep the value. weakTarget(reference): the value, undefined
// once it was collected.
napi_value weak_value(Call& call) {
  return owned_external(call, WeakValue(call.env, call.state.releases(), call.arguments[0]));
}
napi_value weak_target(Call& call) { return owned_by<WeakValue>(call, 0).get(call.env); }

// shortenScavenge(): the number of objects that the next scavenge does not visit; 0 if they were not found.
napi_value shorten_scavenge(Call& call) {
  return write_double(call, static_cast<double>(ltn::shorten_scavenge(Napi::Env(call.env).Undefined())));
}

// scavengeShort(gc, MINOR, isSoon, isTraced): calls gc(MINOR), shortened; returns as shortenScavenge() does. isSoon: so
// soon after the last one that few objects can survive, which one thread copies before V8's other threads run.
// isTraced: the program may want V8's line about it.
napi_value scavenge_short(Call& call) {
  const Napi::Env env(call.env);
  const bool is_soon = read_bool(call, call.arguments[2], 2);
  const bool is_traced = read_bool(call, call.arguments[3], 3);
  const size_t objects = ltn::shorten_scavenge(env.Undefined());
  const Napi::Function gc(env, call.arguments[0]);
  {
    V8Flags& flags = V8Flags::found();
    std::optional<V8FlagFor> alone, silent;
    if (is_soon) alone.emplace(flags.parallel_scavenge, false);
    if (!is_traced) silent.emplace(flags.no_line, true);
    gc.Call({call.arguments[1]});
  }
  return write_double(call, static_cast<double>(objects));
}

// exposeGc(value): whether new contexts have a function gc(). False: V8's flag was not found, and is as it was.
napi_value expose_gc(Call& call) {
  V8Flag& flag = V8Flags::found().expose_gc;
  flag.exchange(read_bool(call, call.arguments[0], 0));
  return Napi::Boolean::New(call.env, flag.found());
}

// shortScavenges(): how many there were in this thread. For tests.
napi_value short_scavenges(Call& call) { return write_double(call, static_cast<double>(ltn::short_scavenges())); }

// For the probe of lib/memory/memory-usage.ts.
napi_value adjust_external(Call& call) {
  Napi::MemoryManagement::AdjustExternalMemory(Napi::Env(call.env), read_int(call, call.arguments[0], 0));
  return nullptr;
}

// Returns the blocks that this thread keeps and the free pages inside the heaps of malloc to the system. glibc returns
// only those at a heap's end by itself.
napi_value trim_memory(Call&) {
  accounting::release_cpu_blocks();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return nullptr;
}

const Export kMemoryExports[] = {
    exported_body<&memory, 0>("memory", "memory() -> object"),
    exported_body<&set_memory_limit, 1>("setMemoryLimit", "setMemoryLimit(int? bytes) -> ()"),
    exported_body<&memory_limit, 0>("memoryLimit", "memoryLimit() -> int"),
    exported_body<&allocated_bytes, 0>("allocatedBytes", "allocatedBytes() -> int"),
    exported_body<&allocations, 0>("allocations", "allocations() -> int"),
    exported_body<&set_collectors, 2>("setCollectors", "setCollectors(function all, function due) -> ()"),
    exported_body<&free_queued, 0>("freeQueued", "freeQueued() -> ()"),
    exported_body<&delete_released, 0>("deleteReleased", "deleteReleased() -> ()"),
    exported_body<&weak_value, 1>("weakValue", "weakValue(any value) -> external"),
    exported_body<&weak_target, 1>("weakTarget", "weakTarget(external reference) -> any"),
    exported_body<&shorten_scavenge, 0>("shortenScavenge", "shortenScavenge() -> int"),
    exported_body<&scavenge_short, 4>("scavengeShort",
                                      "scavengeShort(function gc, object minor, bool is_soon, bool is_traced) -> int"),
    exported_body<&expose_gc, 1>("exposeGc", "exposeGc(bool value) -> bool"),
    exported_body<&short_scavenges, 0>("shortScavenges", "shortScavenges() -> int"),
    exported_body<&adjust_external, 1>("adjustExternal", "adjustExternal(int bytes) -> ()"),
    exported_body<&trim_memory, 0>("trimMemory", "trimMemory() -> ()"),
    exported_body<&reported_bytes, 0>("reportedBytes", "reportedBytes() -> int"),
};

}  // namespace

std::vector<audit::DeviceFigures> device_figures() { return figures_of(accounting::ledger_totals().devices); }

ExportList memory_exports() { return {kMemoryExports, std::size(kMemoryExports)}; }

}  // namespace ltn
