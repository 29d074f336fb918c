#include "native/errors/js_errors.h"

#include "native/errors/thrown.h"
#include "native/v8/symbols.h"

namespace ltn {
namespace {

// Whether this is Bun: `process.versions.bun` exists. It has V8's symbols, but some do nothing.
bool is_bun(napi_env env) noexcept {
  napi_value value = nullptr;
  napi_valuetype type = napi_undefined;
  if (napi_get_global(env, &value) != napi_ok) return false;
  for (const char* name : {"process", "versions", "bun"}) {
    if (napi_get_named_property(env, value, name, &value) != napi_ok) {
      take_pending(env);
      return false;
    }
  }
  return napi_typeof(env, value, &type) == napi_ok && type == napi_string;
}

struct IsolateFunctions {
  CurrentIsolate current = nullptr;
  void* (*throw_exception)(void* isolate, napi_value error) = nullptr;
  void (*terminate)(void* isolate) = nullptr;

  IsolateFunctions() noexcept {
    find_in_v8(&current);
    find_in_v8(&throw_exception, "_ZN2v87Isolate14ThrowExceptionENS_5LocalINS_5ValueEEE");
    find_in_v8(&terminate, "_ZN2v87Isolate18TerminateExecutionEv");
  }
};

const IsolateFunctions& isolate_functions() noexcept {
  static const IsolateFunctions functions;
  return functions;
}

}  // namespace

napi_value take_pending(napi_env env) noexcept {
  bool pending = false;
  napi_value error = nullptr;
  if (napi_is_exception_pending(env, &pending) != napi_ok || !pending) return nullptr;
  napi_get_and_clear_last_exception(env, &error);
  return error;
}

// Not napi_throw: it keeps the exception in the napi_env while V8 allocates its message. A collection at that moment
// runs basic finalizers, and Node takes that exception for one of theirs and ends the process ("Check failed:
// AllowJavascriptExecution"). V8's own throw does not use the napi_env.
// If the symbols do not exist, or do nothing (in Bun an exception thrown this way arrives as undefined), napi_throw is
// safe.
void throw_error(napi_env env, napi_value error) noexcept {
  const IsolateFunctions& v8 = isolate_functions();
  static const bool through_v8 = v8.current != nullptr && v8.throw_exception != nullptr && !is_bun(env);
  if (through_v8) {
    v8.throw_exception(v8.current(), error);
  } else {
    napi_throw(env, error);
  }
}

void renew_termination(napi_env env) noexcept {
  // Node-API refuses calls that may run JavaScript once the thread is being terminated.
  napi_value global = nullptr;
  bool has = false;
  if (napi_get_global(env, &global) != napi_ok || napi_has_named_property(env, global, "Object", &has) == napi_ok)
    return;
  const IsolateFunctions& v8 = isolate_functions();
  if (v8.current != nullptr && v8.terminate != nullptr) v8.terminate(v8.current());
}

std::string describe_value(napi_env env, napi_value value) {
  if (value == nullptr) return "nothing";
  napi_valuetype type = napi_undefined;
  if (napi_typeof(env, value, &type) != napi_ok) return "an unknown value";
  switch (type) {
    case napi_undefined:
      return "undefined";
    case napi_null:
      return "null";
    case napi_function:
      return "a function";
    case napi_symbol:
      return "a symbol";
    case napi_external:
      return "an external";
    case napi_object: {
      bool is_array = false;
      napi_is_array(env, value, &is_array);
      return is_array ? "an array" : "an object";
    }
    default:
      break;
  }
  // Numbers, booleans, strings and bigints are shown, truncated to a line.
  napi_value string = nullptr;
  if (napi_coerce_to_string(env, value, &string) != napi_ok) return "an unknown value";
  char buffer[64] = "";
  size_t length = 0;
  napi_get_value_string_utf8(env, string, buffer, sizeof buffer, &length);
  const std::string text(buffer, length);
  return type == napi_string ? "'" + text + "'" : text;
}

void check(napi_env env, napi_status status) {
  if (__builtin_expect(status == napi_ok, 1)) return;
  bool pending = false;
  if (napi_is_exception_pending(env, &pending) == napi_ok && pending) throw PendingJsException();
  const napi_extended_error_info* info = nullptr;
  const bool known = napi_get_last_error_info(env, &info) == napi_ok && info->error_message != nullptr;
  throw CodedError("ERR_TORCH_INTERNAL", known ? info->error_message : "a Node-API call failed");
}

}  // namespace ltn
