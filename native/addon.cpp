// The addon's entry point, loaded by lib/addon/native.ts once per environment.
#include <napi.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <mutex>

#include "native/accounting/totals.h"
#include "native/audit/audit.h"
#include "native/audit/rank.h"
#include "native/autograd/callback_queue.h"
#include "native/autograd/engine.h"
#include "native/convert/call_error.h"
#include "native/exports/audit.h"
#include "native/exports/exports.h"
#include "native/ops/guarded_backwards.h"
#include "native/ops/replaced_kernels.h"
#include "native/schema/dtypes.h"

namespace ltn {
namespace {

Napi::Value make_function(Napi::Env env, const BoundOp* op, const char* name) {
  napi_value function = nullptr;
  const napi_status status =
      napi_create_function(env, name, NAPI_AUTO_LENGTH, op->row->invoke, const_cast<BoundOp*>(op), &function);
  if (status != napi_ok) throw Napi::Error::New(env);
  return Napi::Value(env, function);
}

// `ops(i)` returns the native function of table row i. Created on first use: most programs use few of the ops.
Napi::Value op_function(const Napi::CallbackInfo& info) {
  auto* state = static_cast<EnvState*>(info.Data());
  if (info.Length() != 1 || !info[0].IsNumber()) throw Napi::TypeError::New(info.Env(), "ops: expected a row number");
  const int64_t index = info[0].As<Napi::Number>().Int64Value();
  if (index < 0 || static_cast<size_t>(index) >= op_count) {
    throw Napi::RangeError::New(info.Env(), "ops: no such row: " + std::to_string(index));
  }
  return make_function(info.Env(), state->bound_op(static_cast<size_t>(index)), op_rows[index]->name);
}

// The number in the first variable that is set, in the order of lib/observe/rank.ts; -1 for anything else.
int64_t environment_number(std::initializer_list<const char*> names) {
  const char* text = nullptr;
  for (const char* const name : names) {
    if (text == nullptr || *text == '\0') text = ::getenv(name);
  }
  if (text == nullptr) return -1;
  int64_t number = -1;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc() && stop == end && number >= 0 && number <= INT32_MAX ? number : -1;
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  EnvState* state = EnvState::create(env);
  exports.Set("ops", Napi::Function::New(env, &op_function, "ops", state));
  exports.Set("opCount", static_cast<double>(op_count));
  exports.Set("flagsBuffer", Napi::Value(env, state->flags_buffer()));
  for (const ExportList& list :
       {handle_exports(),   tensor_exports(),  data_exports(),     file_exports(),     autograd_exports(),
        gradient_exports(), hook_exports(),    autocast_exports(), function_exports(), anomaly_exports(),
        memory_exports(),   library_exports(), cuda_exports(),     watch_exports(),    share_exports(),
        async_exports(),    capture_exports(), model_exports(),    optim_exports(),    distributed_exports(),
        reducer_exports(),  trace_exports(),   json_exports()}) {
    for (size_t i = 0; i < list.count; ++i) {
      const Export& entry = list.begin[i];
      exports.Set(entry.name, make_function(env, state->bind_export(entry.row), entry.name));
    }
  }
  audit::set_dtypes(&dtype_names());
  static std::once_flag process_once;
  std::call_once(process_once, [] {
    replace_kernels();
    guard_backwards();
    if (autograd::CallbackQueue::is_linked()) autograd::Engine::install();
    audit::set_rank(environment_number({"RANK", "SLURM_PROCID"}), environment_number({"WORLD_SIZE", "SLURM_NTASKS"}));
  });
  audit::set_sources({&accounting::read_totals, &device_figures});
  audit::export_js(env, exports, state->number());
  return exports;
}

}  // namespace
}  // namespace ltn

// Not NODE_API_MODULE: it does not catch exceptions other than Napi::Error, and so ends the process if a worker is
// terminated while it loads the addon, when every Node-API call fails.
NAPI_MODULE_INIT() {
  try {
    return ltn::init(env, Napi::Object(env, exports));
  } catch (...) {  // any exception: none may pass through a C frame
    if (napi_value error = ltn::current_error(env, nullptr)) ltn::throw_error(env, error);
  }
  return nullptr;
}
