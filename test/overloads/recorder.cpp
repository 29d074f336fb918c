// Which operators a call runs: "aten::add.Tensor" and so on, the outermost ones only, in order.
//
// One shared library for both sides of the comparison: Python loads it with ctypes, Node as an addon. It observes
// through at::RecordFunction, so it sees what libtorch's dispatcher ran for either caller.
#include <ATen/record_function.h>

#include <memory>
#include <string>

// The few functions of Node-API that it needs. Weak, because Python lacks them and binds all symbols at load.
extern "C" {
using Callback = void* (*)(void* env, void* info);
__attribute__((weak)) int napi_create_function(void* env, const char*, size_t, Callback, void* data, void** result);
__attribute__((weak)) int napi_create_string_utf8(void* env, const char* text, size_t length, void** result);
__attribute__((weak)) int napi_set_named_property(void* env, void* object, const char* name, void* value);
}

namespace {

// State of the single thread that makes the calls.
std::string recorded;
int depth = 0;
at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
  if (depth++ > 0) return nullptr;
  const auto name = function.operator_name();
  if (!name) return nullptr;
  recorded += recorded.empty() ? "" : " ";
  recorded += name->name + (name->overload_name.empty() ? "" : "." + name->overload_name);
  return nullptr;
}

void leave(const at::RecordFunction&, at::ObserverContext*) { --depth; }

}  // namespace

extern "C" {

// Starts recording the calling thread's operators.
__attribute__((visibility("default"))) void recorder_start() {
  recorded.clear();
  depth = 0;
  handle = at::addThreadLocalCallback(at::RecordFunctionCallback(enter, leave).scopes({at::RecordScope::FUNCTION}));
}

// What was recorded since the start, separated by spaces; valid until the next start.
__attribute__((visibility("default"))) const char* recorder_stop() {
  if (handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(handle);
  handle = at::INVALID_CALLBACK_HANDLE;
  return recorded.c_str();
}

__attribute__((visibility("default"))) void* napi_register_module_v1(void* env, void* exports) {
  void* function = nullptr;
  const auto start = [](void*, void*) -> void* {
    recorder_start();
    return nullptr;
  };
  napi_create_function(env, "start", 5, start, nullptr, &function);
  napi_set_named_property(env, exports, "start", function);
  const auto stop = [](void* of, void*) -> void* {
    void* text = nullptr;
    const std::string answer = recorder_stop();
    napi_create_string_utf8(of, answer.c_str(), answer.size(), &text);
    return text;
  };
  napi_create_function(env, "stop", 4, stop, nullptr, &function);
  napi_set_named_property(env, exports, "stop", function);
  return exports;
}
}
