// Arrays of numbers in JSON text: lib/utils/parse-json.ts.
#include "native/errors/describe_tensor.h"
#include "native/exports/exports.h"
#include "native/json/arrays.h"

namespace ltn {
namespace {

// Elements of a typed array. JavaScript may detach it, so nothing of the program runs between this and their use.
template <class Array>
Array array_argument(Call& call, size_t index, napi_typedarray_type type, const char* expected) {
  const Napi::Value value = argument(call, index);
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) {
    throw BadArgument(index, expected, describe_value(call.env, value));
  }
  return value.As<Array>();
}

json::NumberArrays find(Call& call, std::string_view text, const std::vector<std::string>& names) {
  const Napi::Value numbers = argument(call, 2);
  if (numbers.IsTypedArray() && numbers.As<Napi::TypedArray>().TypedArrayType() == napi_float32_array) {
    auto floats = numbers.As<Napi::Float32Array>();
    return json::find_number_arrays(text, names, floats.Data(), floats.ElementLength());
  }
  auto doubles = array_argument<Napi::Float64Array>(call, 2, napi_float64_array, "a Float32Array or Float64Array");
  return json::find_number_arrays(text, names, doubles.Data(), doubles.ElementLength());
}

// jsonArrays(text, names, numbers): 1 if the object has other members, or 0; then the arrays of numbers under these
// names, five figures each (json::NumberArray). Their numbers are in `numbers`. Null if the text is left to JSON.parse.
napi_value json_arrays(Call& call) {
  const std::vector<std::string> names = texts_at(call, 1);
  auto bytes = array_argument<Napi::Uint8Array>(call, 0, napi_uint8_array, "a Uint8Array");
  const std::string_view text(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
  const json::NumberArrays read = find(call, text, names);
  if (!read.is_read) return Napi::Env(call.env).Null();
  std::vector<double> figures{read.has_others ? 1.0 : 0.0};
  for (const auto& [name, begin, end, first, count] : read.found) {
    for (const size_t figure : {name, begin, end, first, count}) figures.push_back(static_cast<double>(figure));
  }
  return to_js(call, std::move(figures));
}

const Export kJsonExports[] = {
    exported_body<&json_arrays, 3>("jsonArrays",
                                   "jsonArrays(Uint8Array text, str[] names, TypedArray numbers) -> float[]?"),
};

}  // namespace

ExportList json_exports() { return {kJsonExports, std::size(kJsonExports)}; }

}  // namespace ltn
