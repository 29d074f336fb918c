// Native functions that are not ops, called by lib/ by name. They share the ops' error guard and converters.
#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "native/audit/requests.h"
#include "native/errors/thrown.h"
#include "native/ops/invoke.h"

namespace ltn {

// A function with its name in the `native` object of lib/addon/native.ts.
struct Export {
  const char* name;
  OpRow row;
};

// Linux writes less than 2 GiB per call.
constexpr size_t kMaxWrite = size_t{1} << 30;

// A call may leave its arguments larger than their memory.
constexpr Export may_outgrow(Export made) {
  made.row.mutated = OpRow::kMayOutgrow;
  return made;
}

// For the message of an error: what a program called, where the export has a name of its own. Not for the exports that
// native/ops/record.cpp knows by name.
constexpr Export called_by(const char* name, Export made) {
  made.row.name = name;
  return made;
}

// For functions on libtorch's types: the ops' invoker converts.
template <class Signature>
constexpr Export exported(const char* name, const char* schema, Signature* function) {
  return {name, {name, schema, &Invoker<Signature>::call, reinterpret_cast<AnyFunction>(function), 0}};
}

// For functions that handle JS values themselves, with node-addon-api where the ops' converters have nothing for them.
template <Body body>
napi_value with_napi(Call& call) {
  try {
    if (call.state.flags().recording != handles::Flags::kOff) require_capturable(call);
    return body(call);
  } catch (const Napi::Error& error) {  // run_guarded throws it again as it is
    throw ThrownByProgram(error.Value());
  }
}
template <Body body, size_t count>
napi_value call_body(napi_env env, napi_callback_info info) {
  napi_value arguments[count == 0 ? 1 : count];
  return run_guarded(env, info, arguments, count, &with_napi<body>);
}
inline Napi::Value argument(const Call& call, size_t index) { return {call.env, call.arguments[index]}; }

inline std::vector<std::string> texts_at(Call& call, size_t index) {
  const napi_value list = call.arguments[index];
  std::vector<std::string> texts(list_length(call, list, index, "an array of strings"));
  for (uint32_t i = 0; i < texts.size(); ++i) texts[i] = read_string(call, list_element(call, list, i), index);
  return texts;
}

template <Body body, size_t count>
constexpr Export exported_body(const char* name, const char* schema) {
  return {name, {name, schema, &call_body<body, count>, nullptr, 0}};
}

struct ExportList {
  const Export* begin;
  size_t count;
};

// One list per subject; addon.cpp exports them all.
ExportList handle_exports();
ExportList tensor_exports();
ExportList data_exports();
ExportList file_exports();
ExportList json_exports();
ExportList autograd_exports();
ExportList autocast_exports();
ExportList gradient_exports();
ExportList hook_exports();
ExportList function_exports();
ExportList anomaly_exports();
ExportList memory_exports();
ExportList library_exports();
ExportList share_exports();
ExportList cuda_exports();
ExportList watch_exports();
ExportList async_exports();
ExportList capture_exports();
ExportList model_exports();
ExportList optim_exports();
ExportList distributed_exports();
ExportList reducer_exports();
ExportList trace_exports();

// `torch.memory().devices`. Any thread.
std::vector<audit::DeviceFigures> device_figures();

// The devices of libtorch's CUDA, 0 without it.
int64_t cuda_device_count();

}  // namespace ltn
