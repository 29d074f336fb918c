// torch.memory().
#include "native/accounting/cpu_allocator.h"
#include "native/accounting/storage_ledger.h"
#include "native/internals/internals.h"

namespace ltn {
namespace {

void set_number(Call& call, napi_value object, const char* name, uint64_t value) {
  check(call.env, napi_set_named_property(call.env, object, name, write_double(call, static_cast<double>(value))));
}

napi_value new_object(Call& call) {
  napi_value object = nullptr;
  check(call.env, napi_create_object(call.env, &object));
  return object;
}

napi_value memory(Call& call) {
  const auto ledger = accounting::ledger_totals();
  const auto allocator = accounting::cpu_allocator_totals();
  napi_value result = new_object(call);
  set_number(call, result, "tensors", ledger.tensors);
  set_number(call, result, "storages", ledger.storages);
  set_number(call, result, "bytes", ledger.bytes);
  set_number(call, result, "allocatedBytes", allocator.allocated_bytes);
  set_number(call, result, "peakAllocatedBytes", allocator.peak_allocated_bytes);
  napi_value devices = new_object(call);
  bool cpu_seen = false;
  const auto add_device = [&](const accounting::DeviceTotals& device) {
    napi_value entry = new_object(call);
    const bool is_cpu = device.device == "cpu";
    cpu_seen = cpu_seen || is_cpu;
    set_number(call, entry, "tensors", device.tensors);
    set_number(call, entry, "storages", device.storages);
    set_number(call, entry, "bytes", device.bytes);
    // Only the CPU's allocator is counted in this version; elsewhere what handles hold is the figure there is.
    set_number(call, entry, "allocatedBytes", is_cpu ? allocator.allocated_bytes : device.bytes);
    set_number(call, entry, "peakAllocatedBytes", is_cpu ? allocator.peak_allocated_bytes : device.bytes);
    check(call.env, napi_set_named_property(call.env, devices, device.device.c_str(), entry));
  };
  for (const auto& device : ledger.devices) add_device(device);
  if (!cpu_seen) add_device({"cpu", 0, 0, 0});
  check(call.env, napi_set_named_property(call.env, result, "devices", devices));
  return result;
}

// The bytes that V8 was told for this environment, after settling: for tests and doctors.
napi_value reported_bytes(Call& call) {
  call.state.external().flush();
  return write_double(call, static_cast<double>(call.state.external().reported()));
}

// For the probe of lib/memory-usage.ts.
napi_value adjust_external(Call& call) {
  int64_t total = 0;
  check(call.env, napi_adjust_external_memory(call.env, read_int(call, call.arguments[0], 0), &total));
  return nullptr;
}

const Internal kInternals[] = {
    internal_body<&memory, 0>("memory", "memory() -> object"),
    internal_body<&adjust_external, 1>("adjustExternal", "adjustExternal(int bytes) -> ()"),
    internal_body<&reported_bytes, 0>("reportedBytes", "reportedBytes() -> int"),
};

}  // namespace

InternalList memory_internals() { return {kInternals, std::size(kInternals)}; }

}  // namespace ltn
