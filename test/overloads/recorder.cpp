// Which operators a call runs: aten::add.Tensor and so on, the outermost ones only, in order.
//
// One shared library for both sides of the comparison. Python loads it with ctypes, Node with require; the Node-API
// functions it names are then bound only where they exist. It observes through at::RecordFunction, so what it sees is
// what libtorch's own dispatcher ran, on either side.
#include <ATen/record_function.h>
#include <node_api.h>

#include <string>

// Python has none of them, and binds everything at once.
#pragma weak napi_create_function
#pragma weak napi_create_string_utf8
#pragma weak napi_set_named_property

namespace {

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

/// From here on the calling thread's operators are recorded.
extern "C" __attribute__((visibility("default"))) void recorder_start() {
    recorded.clear();
    depth = 0;
    handle = at::addThreadLocalCallback(at::RecordFunctionCallback(enter, leave).scopes({at::RecordScope::FUNCTION}));
}

/// What was recorded since the start, separated by spaces; valid until the next start.
extern "C" __attribute__((visibility("default"))) const char* recorder_stop() {
    if (handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(handle);
    handle = at::INVALID_CALLBACK_HANDLE;
    return recorded.c_str();
}

namespace {

napi_value js_start(napi_env, napi_callback_info) {
    recorder_start();
    return nullptr;
}

napi_value js_stop(napi_env env, napi_callback_info) {
    napi_value text = nullptr;
    napi_create_string_utf8(env, recorder_stop(), NAPI_AUTO_LENGTH, &text);
    return text;
}

}  // namespace

NAPI_MODULE_INIT() {
    napi_value start = nullptr;
    napi_value stop = nullptr;
    napi_create_function(env, "start", NAPI_AUTO_LENGTH, js_start, nullptr, &start);
    napi_create_function(env, "stop", NAPI_AUTO_LENGTH, js_stop, nullptr, &stop);
    napi_set_named_property(env, exports, "start", start);
    napi_set_named_property(env, exports, "stop", stop);
    return exports;
}
