#include "native/convert/to_js.h"

#include <cmath>

namespace ltn {
namespace {

constexpr int64_t kMaxSafeInteger = (int64_t{1} << 53) - 1;

[[noreturn]] void throw_no_guard(Call& call) {
  bool pending = false;  // e.g. the thread is being terminated
  if (napi_is_exception_pending(call.env, &pending) == napi_ok && pending) throw PendingJsException();
  throw CodedError("ERR_TORCH_INTERNAL", "expected a JavaScript object for the result, got none from Node-API");
}

}  // namespace

napi_value write_double(Call& call, double value) {
  napi_value result = nullptr;
  check(call.env, napi_create_double(call.env, value, &result));
  return result;
}

napi_value write_int(Call& call, int64_t value) {
  napi_value result = nullptr;
  if (value >= -kMaxSafeInteger && value <= kMaxSafeInteger) {
    check(call.env, napi_create_double(call.env, static_cast<double>(value), &result));
  } else {
    check(call.env, napi_create_bigint_int64(call.env, value, &result));
  }
  return result;
}

napi_value write_bool(Call& call, bool value) {
  napi_value result = nullptr;
  check(call.env, napi_get_boolean(call.env, value, &result));
  return result;
}

napi_value write_scalar(Call& call, const at::Scalar& value) {
  if (value.isBoolean()) return write_bool(call, value.to<bool>());
  if (value.isIntegral(/*includeBool=*/false)) return write_int(call, value.to<int64_t>());
  if (!value.isComplex()) return write_double(call, value.to<double>());
  const auto complex = value.to<c10::complex<double>>();
  napi_value result = nullptr;
  check(call.env, napi_create_object(call.env, &result));
  check(call.env, napi_set_named_property(call.env, result, "re", write_double(call, complex.real())));
  check(call.env, napi_set_named_property(call.env, result, "im", write_double(call, complex.imag())));
  return result;
}

napi_value write_element(Call& call, at::Tensor&& value) {
  const handles::Handle handle = call.state.slots().create(std::move(value));
  const auto number = static_cast<double>(handle);
  if (handle == 0 || call.state.flags().scope != 0) return write_double(call, number);
  napi_value guard = call.state.make_element_guard(handle);
  if (guard == nullptr) {
    call.state.slots().free(handle);
    throw_no_guard(call);
  }
  set_element(call, guard, 0, write_double(call, number));
  return guard;
}

napi_value write_result(Call& call, at::Tensor&& value) {
  const handles::Handle handle = call.state.slots().create(std::move(value));
  handles::Flags& flags = call.state.flags();
  flags.result = static_cast<double>(handle);
  if (handle == 0 || flags.scope != 0) return nullptr;
  napi_value guard = call.state.make_guard(handle);
  if (guard == nullptr) {
    call.state.slots().free(handle);
    throw_no_guard(call);
  }
  return guard;
}

napi_value write_generator(Call& call, at::Generator value) {
  const uint64_t handle = call.state.generators().create(std::move(value));
  napi_value guard = call.state.make_generator_guard(handle);
  if (guard == nullptr) {
    call.state.generators().free(handle);
    throw_no_guard(call);
  }
  set_element(call, guard, 0, write_double(call, static_cast<double>(handle)));
  return guard;
}

napi_value write_string(Call& call, const std::string& value) {
  napi_value result = nullptr;
  check(call.env, napi_create_string_utf8(call.env, value.data(), value.size(), &result));
  return result;
}

napi_value new_array(Call& call, size_t length) {
  napi_value array = nullptr;
  check(call.env, napi_create_array_with_length(call.env, length, &array));
  return array;
}

void set_element(Call& call, napi_value array, size_t index, napi_value value) {
  check(call.env, napi_set_element(call.env, array, static_cast<uint32_t>(index), value));
}

}  // namespace ltn
