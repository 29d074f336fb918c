#include "native/convert/from_js.h"

#include <cmath>
#include <limits>

#include "native/convert/devices.h"
#include "native/schema/arguments.h"

namespace ltn {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

// The readers below take the plain values of these types.
static_assert(is_plain(Base::Int, Plain::Integer) && is_plain(Base::Float, Plain::Number) &&
              is_plain(Base::Scalar, Plain::Number) && is_plain(Base::Bool, Plain::Boolean) &&
              is_plain(Base::Str, Plain::String) && is_plain(Base::Tensor, Plain::Tensor));

napi_valuetype type_of(Call& call, napi_value value) {
  napi_valuetype type = napi_undefined;
  check(call.env, napi_typeof(call.env, value, &type));
  return type;
}

bool is_integer(double number) { return number == std::trunc(number) && number >= -kTwoTo63 && number < kTwoTo63; }

int64_t read_bigint(Call& call, napi_value value, size_t index) {
  int64_t result = 0;
  bool lossless = false;
  check(call.env, napi_get_value_bigint_int64(call.env, value, &result, &lossless));
  if (!lossless) throw BadArgument(index, "an integer of 64 bits", describe_value(call.env, value));
  return result;
}

bool has_fractions(c10::ScalarType type) { return c10::isFloatingType(type) || c10::isComplexType(type); }

bool has_fractions(Call& call, napi_value tensor) {
  const at::Tensor* found = peek_tensor(call, tensor);
  return found != nullptr && has_fractions(found->scalar_type());
}

// Whether a call has floating-point or complex tensors, dtypes or scalars, so that another one changes no dtype.
bool uses_fractions(Call& call) {
  const auto schema = schema_arguments(call.row->schema);
  for (size_t i = 0; i < call.given && i < call.count && i < schema.size(); ++i) {
    const napi_value argument = call.arguments[i];
    if (schema[i].is_tensor_list()) {
      bool has_some = false;
      peek_tensors(call, argument, [&](const at::Tensor* tensor) {
        has_some = has_some || (tensor != nullptr && has_fractions(tensor->scalar_type()));
      });
      if (has_some) return true;
    } else if (schema[i].is_tensor()) {
      if (has_fractions(call, argument)) return true;
    } else {
      double number = 0;
      if (napi_get_value_double(call.env, argument, &number) != napi_ok) continue;
      const bool is_dtype = schema[i].type.rfind("ScalarType", 0) == 0;
      const bool known = number >= 0 && number < static_cast<double>(c10::ScalarType::NumOptions);
      if (is_dtype && known && has_fractions(static_cast<c10::ScalarType>(number))) return true;
      if (schema[i].type.rfind("Scalar", 0) == 0 && !is_dtype && !is_integer(number)) return true;
    }
  }
  return false;
}

// Whether the call writes a scalar into integers: fill_, full_like, masked_fill and similar. Their elements have the
// requested dtype, otherwise that of the tensor; for full() without both, that of the number, which is then not an
// integer.
bool fills_integers(Call& call) {
  const std::string_view text(call.row->schema);
  const std::string_view name = text.substr(0, text.find('('));
  if (name.find("fill") == std::string_view::npos && name.find("full") == std::string_view::npos) return false;
  const auto schema = schema_arguments(call.row->schema);
  bool integers = false;
  for (size_t i = call.given < schema.size() ? call.given : schema.size(); i-- > 0;) {
    double number = 0;
    if (napi_get_value_double(call.env, call.arguments[i], &number) != napi_ok) continue;
    if (schema[i].type.rfind("ScalarType", 0) == 0) {
      const bool known = number >= 0 && number < static_cast<double>(c10::ScalarType::NumOptions);
      return known && c10::isIntegralType(static_cast<c10::ScalarType>(number), /*includeBool=*/false);
    }
    if (!schema[i].is_tensor()) continue;
    const at::Tensor* found = peek_tensor(call, call.arguments[i]);
    if (found != nullptr) integers = c10::isIntegralType(found->scalar_type(), /*includeBool=*/false);
  }
  return integers;
}

double read_member(Call& call, napi_value object, const char* name, size_t index) {
  napi_value member = nullptr;
  check(call.env, napi_get_named_property(call.env, object, name, &member));
  return read_double(call, member, index);
}

}  // namespace

std::string expected_of(Base base) {
  const std::string text = codegen::fit_of(base).expected;
  return (std::string("aeiou").find(text[0]) != std::string::npos ? "an " : "a ") + text;
}

int64_t read_int(Call& call, napi_value value, size_t index) {
  double number = 0;
  if (napi_get_value_double(call.env, value, &number) == napi_ok) {
    if (!is_integer(number)) throw BadArgument(index, expected_of(Base::Int), describe_value(call.env, value));
    return static_cast<int64_t>(number);
  }
  if (type_of(call, value) == napi_bigint) return read_bigint(call, value, index);
  throw BadArgument(index, expected_of(Base::Int), describe_value(call.env, value));
}

Packed read_packed(const Call& call, napi_value value) {
  // As a double: Deno's integer reader takes an array for the number 0.
  double number = 0;
  if (napi_get_value_double(call.env, value, &number) != napi_ok) return {};
  Packed packed;
  packed.first = call.state.flags().packed(number, &packed.length);
  return packed;
}

int64_t read_packed_int(Call&, double number, size_t index) {
  if (!is_integer(number)) throw BadArgument(index, expected_of(Base::Int), std::to_string(number));
  return static_cast<int64_t>(number);
}

at::Tensor& read_packed_tensor(Call& call, double number, size_t index) {
  if (!(number > 0 && number < handles::kHandleEnd)) {
    throw BadArgument(index, expected_of(Base::Tensor), std::to_string(number));
  }
  return call.tensor_of(static_cast<handles::Handle>(number), index);
}

double read_double(Call& call, napi_value value, size_t index) {
  double number = 0;
  if (napi_get_value_double(call.env, value, &number) == napi_ok) return number;
  if (type_of(call, value) == napi_bigint) return static_cast<double>(read_bigint(call, value, index));
  throw BadArgument(index, expected_of(Base::Float), describe_value(call.env, value));
}

bool read_bool(Call& call, napi_value value, size_t index) {
  bool result = false;
  if (napi_get_value_bool(call.env, value, &result) == napi_ok) return result;
  throw BadArgument(index, expected_of(Base::Bool), describe_value(call.env, value));
}

std::string read_string(Call& call, napi_value value, size_t index) {
  size_t length = 0;
  if (napi_get_value_string_utf8(call.env, value, nullptr, 0, &length) != napi_ok) {
    throw BadArgument(index, expected_of(Base::Str), describe_value(call.env, value));
  }
  std::string text(length, '\0');
  check(call.env, napi_get_value_string_utf8(call.env, value, text.data(), length + 1, &length));
  return text;
}

at::Scalar scalar_of(Call& call, double number) {
  if (!is_integer(number)) return number;
  if (number == 0 && std::signbit(number) && uses_fractions(call)) return number;
  return static_cast<int64_t>(number);
}

at::Scalar read_scalar(Call& call, napi_value value, size_t index) {
  double number = 0;
  if (napi_get_value_double(call.env, value, &number) == napi_ok) {
    // libtorch's overflow check takes 2^63 for the largest int64, and then writes the smallest.
    if (number == kTwoTo63 && fills_integers(call)) {
      throw BadArgument(index, "an integer of 64 bits", describe_value(call.env, value));
    }
    return scalar_of(call, number);
  }
  switch (type_of(call, value)) {
    case napi_boolean:
      return read_bool(call, value, index);
    case napi_bigint:
      return read_bigint(call, value, index);
    case napi_object:
      return c10::complex<double>(read_member(call, value, "re", index), read_member(call, value, "im", index));
    default:
      throw BadArgument(index, expected_of(Base::Scalar), describe_value(call.env, value));
  }
}

c10::Device read_device(Call& call, napi_value value, size_t index) {
  const std::string text = read_string(call, value, index);
  if (text == "cpu") return c10::Device(c10::DeviceType::CPU);
  c10::Device device(c10::DeviceType::CPU);
  try {
    device = c10::Device(text);
  } catch (const c10::Error&) {
    // libtorch's message is about its own parser; the caller needs the argument.
    throw BadArgument(index, "a device such as 'cpu' or 'cuda:0'", describe_value(call.env, value));
  }
  require_device(device, index);
  return device;
}

c10::DeviceIndex read_device_index(Call& call, napi_value value, size_t index) {
  constexpr int64_t kMax = std::numeric_limits<c10::DeviceIndex>::max();
  const int64_t number = read_int(call, value, index);
  if (number >= -1 && number <= kMax) return static_cast<c10::DeviceIndex>(number);
  throw BadArgument(index, "the number of a device, at most " + std::to_string(kMax), std::to_string(number));
}

#ifdef LTN_HAS_DIMNAMES
at::Dimname read_dimname(Call& call, napi_value value, size_t index) {
  if (is_null(call, value)) return at::Dimname::wildcard();
  return at::Dimname::fromSymbol(at::Symbol::dimname(read_string(call, value, index)));
}
#endif

at::Generator read_generator(Call& call, napi_value value, size_t index) {
  double number = 0;
  if (napi_get_value_double(call.env, value, &number) != napi_ok || !(number > 0)) {
    throw BadArgument(index, expected_of(Base::Generator), describe_value(call.env, value));
  }
  at::Generator* generator = call.state.generators().find(static_cast<uint64_t>(number));
  if (generator == nullptr) throw BadArgument(index, expected_of(Base::Generator), "a disposed Generator");
  return *generator;
}

at::Storage read_storage(Call& call, napi_value value, size_t index) {
  at::Tensor& tensor = call.tensor(value, index);
  if (!tensor.has_storage()) throw BadArgument(index, expected_of(Base::Storage), "a tensor without a storage");
  return tensor.storage();
}

c10::Stream read_stream(Call& call, napi_value value, size_t index) {
  // JS passes [device, id].
  if (list_length(call, value, index, expected_of(Base::Stream).c_str()) != 2) {
    throw BadArgument(index, expected_of(Base::Stream), describe_value(call.env, value));
  }
  const c10::Device device = read_device(call, list_element(call, value, 0), index);
  return c10::Stream(c10::Stream::UNSAFE, device, read_int(call, list_element(call, value, 1), index));
}

int64_t read_enum(Call& call, napi_value value, size_t index, int64_t count, Base base) {
  double number = 0;
  if (napi_get_value_double(call.env, value, &number) != napi_ok || !is_integer(number) || number < 0 ||
      number >= static_cast<double>(count)) {
    throw BadArgument(index, expected_of(base), describe_value(call.env, value));
  }
  return static_cast<int64_t>(number);
}

bool is_null(Call& call, napi_value value) {
  const napi_valuetype type = type_of(call, value);
  return type == napi_null || type == napi_undefined;
}

const at::Tensor* peek_tensor(const Call& call, napi_value value) noexcept {
  double number = 0;
  return napi_get_value_double(call.env, value, &number) == napi_ok ? peek_tensor(call, number) : nullptr;
}

const at::Tensor* peek_tensor(const Call& call, double handle) noexcept {
  if (!(handle > 0 && handle < handles::kHandleEnd)) return nullptr;
  return call.state.slots().find(static_cast<handles::Handle>(handle));
}

bool is_null_tensor(Call& call, napi_value value) {
  double number = 0;
  if (napi_get_value_double(call.env, value, &number) == napi_ok) return number == 0;
  return is_null(call, value);
}

uint32_t list_length(Call& call, napi_value value, size_t index, const char* expected) {
  uint32_t length = 0;
  if (napi_get_array_length(call.env, value, &length) == napi_ok) return length;
  throw BadArgument(index, expected, describe_value(call.env, value));
}

uint32_t list_length(Call& call, napi_value value, size_t index, Base element) {
  return list_length(call, value, index,
                     (std::string("an array of ") + codegen::fit_of(element).expected + "s").c_str());
}

napi_value list_element(Call& call, napi_value value, uint32_t position) {
  napi_value element = nullptr;
  check(call.env, napi_get_element(call.env, value, position, &element));
  return element;
}

}  // namespace ltn
