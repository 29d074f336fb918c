#include "native/convert/call_error.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <new>
#include <typeinfo>

#include "native/accounting/cpu_allocator.h"
#include "native/convert/devices.h"
#include "native/convert/from_js.h"
#include "native/errors/describe_tensor.h"
#include "native/errors/thrown.h"
#include "native/schema/arguments.h"

namespace ltn {
namespace {

enum class Kind { Error, TypeError, RangeError };

struct Report {
  Kind kind = Kind::Error;
  const char* code = "ERR_TORCH_RUNTIME";
  std::string message;
  std::string argument;   // the name of the invalid argument, if any
  uint64_t disposed = 0;  // the handle of the disposed tensor, if any
};

std::string argument_name(const Call* call, size_t index) {
  if (call != nullptr) {
    const auto arguments = schema_arguments(call->row->schema);
    if (index < arguments.size()) return arguments[index].name;
  }
  return "argument " + std::to_string(index);
}

std::string describe_list(Call* call, napi_value list) {
  constexpr size_t kShown = 4;
  size_t shown = 0;
  std::string text;
  const auto length = peek_tensors(*call, list, [&](const at::Tensor* tensor) {
    if (shown++ >= kShown) return;
    text += (shown == 1 ? "" : ", ") + (tensor == nullptr ? std::string("null") : describe_tensor(*tensor));
  });
  if (!length) return "?";
  if (*length > kShown) text += ", and " + std::to_string(*length - kShown) + " more";
  return "[" + text + "]";
}

// The tensors of the call: "self: float32[2, 3], mat2: float32[2, 3]".
std::string describe_inputs(Call* call) {
  if (call == nullptr) return "";
  if (call->inputs != nullptr) return *call->inputs;
  const auto arguments = schema_arguments(call->row->schema);
  std::string text;
  for (size_t i = 0; i < call->count && i < arguments.size(); ++i) {
    std::string value;
    if (arguments[i].is_tensor_list()) {
      value = describe_list(call, call->arguments[i]);
    } else if (arguments[i].is_tensor()) {
      const at::Tensor* tensor = peek_tensor(*call, call->arguments[i]);
      if (tensor != nullptr) value = describe_tensor(*tensor);
    }
    if (!value.empty()) text += (text.empty() ? "" : ", ") + arguments[i].name + ": " + value;
  }
  return text;
}

// A backward of DistributedDataParallel throws exceptions of c10d and of Gloo, whose headers this addon does without.
const char* runtime_code(const std::exception& error) {
  const std::string type = typeid(error).name();
  if (type.find("gloo") == type.npos && type.find("Dist") == type.npos) return "ERR_TORCH_RUNTIME";
  const std::string message = error.what();
  const bool timed_out = type.find("Timeout") != type.npos || message.find("imed out") != message.npos;
  return timed_out ? "ERR_TORCH_TIMEOUT" : "ERR_TORCH_DISTRIBUTED";
}

Report report_current(Call* call, bool* pending) {
  Report report;
  try {
    throw;
  } catch (const PendingJsException&) {
    *pending = true;
  } catch (const BadArgument& error) {
    report = {Kind::TypeError, "ERR_TORCH_ARGUMENT", "", argument_name(call, error.index())};
    report.message = "argument '" + report.argument + "': expected " + error.expected() + ", got " + error.got();
  } catch (const DisposedTensor& error) {
    report = {Kind::Error, "ERR_TORCH_DISPOSED", "", argument_name(call, error.index())};
    report.message = "argument '" + report.argument + "': the tensor was disposed";
    report.disposed = error.handle();
  } catch (const PendingTensor& error) {
    report = {Kind::Error, "ERR_TORCH_PENDING", "", argument_name(call, error.index())};
    report.message = "argument '" + report.argument +
                     "': the result is not there yet: await it, or call the op on the object that "
                     "torch.run passes to its function";
  } catch (const NoCuda& error) {
    report = {Kind::Error, "ERR_TORCH_CUDA", "", argument_name(call, error.index())};
    report.message = "argument '" + report.argument + "': " + error.what();
  } catch (const CodedError& error) {
    const bool is_argument = std::strcmp(error.code(), "ERR_TORCH_ARGUMENT") == 0;
    report = {is_argument ? Kind::TypeError : Kind::Error, error.code(), error.what(), ""};
  } catch (const accounting::MemoryLimitError& error) {
    report = {Kind::Error, "ERR_TORCH_MEMORY_LIMIT", error.what_without_backtrace(), ""};
  } catch (const c10::OutOfMemoryError& error) {
    report = {Kind::Error, "ERR_TORCH_OUT_OF_MEMORY", error.what_without_backtrace(), ""};
  } catch (const c10::IndexError& error) {
    report = {Kind::RangeError, "ERR_TORCH_INDEX", error.what_without_backtrace(), ""};
  } catch (const c10::ValueError& error) {
    report = {Kind::RangeError, "ERR_TORCH_VALUE", error.what_without_backtrace(), ""};
  } catch (const c10::TypeError& error) {
    report = {Kind::TypeError, "ERR_TORCH_TYPE", error.what_without_backtrace(), ""};
  } catch (const c10::NotImplementedError& error) {
    report = {Kind::Error, "ERR_TORCH_NOT_IMPLEMENTED", error.what_without_backtrace(), ""};
  } catch (const c10::LinAlgError& error) {
    report = {Kind::Error, "ERR_TORCH_LINALG", error.what_without_backtrace(), ""};
  } catch (const c10::Error& error) {
    report = {Kind::Error, runtime_code(error), error.what_without_backtrace(), ""};
  } catch (const std::bad_alloc&) {
    report = {Kind::Error, "ERR_TORCH_OUT_OF_MEMORY", "out of memory", ""};
  } catch (const std::exception& error) {
    report = {Kind::Error, runtime_code(error), error.what(), ""};
  } catch (...) {  // not a std::exception: still no reason to end the process
    report = {Kind::Error, "ERR_TORCH_RUNTIME", "an unknown C++ exception", ""};
  }
  return report;
}

void set_string(napi_env env, napi_value object, const char* name, const std::string& text) {
  napi_value value = nullptr;
  if (napi_create_string_utf8(env, text.data(), text.size(), &value) == napi_ok) {
    napi_set_named_property(env, object, name, value);
  }
}

}  // namespace

napi_value current_error(napi_env env, Call* call) noexcept {
  try {
    throw;
  } catch (const ThrownByProgram& error) {
    return error.value();
  } catch (...) {  // all others get a message below
  }
  bool pending = false;
  Report report = report_current(call, &pending);
  if (napi_value error = take_pending(env)) return error;
  std::string text;
  if (call != nullptr) text = std::string(call->row->name) + ": ";
  text += report.message;
  const std::string inputs = report.argument.empty() ? describe_inputs(call) : "";
  if (!inputs.empty()) text += "\n  with " + inputs;
  if (call != nullptr) call->state.note_refusal(report.code, text);
  napi_value message = nullptr;
  napi_value code = nullptr;
  napi_value error = nullptr;
  napi_create_string_utf8(env, text.data(), text.size(), &message);
  napi_create_string_utf8(env, report.code, NAPI_AUTO_LENGTH, &code);
  switch (report.kind) {
    case Kind::TypeError:
      napi_create_type_error(env, code, message, &error);
      break;
    case Kind::RangeError:
      napi_create_range_error(env, code, message, &error);
      break;
    case Kind::Error:
      napi_create_error(env, code, message, &error);
      break;
  }
  if (error == nullptr) return take_pending(env);
  if (call != nullptr) set_string(env, error, "op", call->row->name);
  if (!report.argument.empty()) set_string(env, error, "argument", report.argument);
  if (call != nullptr) call->state.complete_error(error, report.disposed);
  return error;
}

}  // namespace ltn
