// C++ result -> JS value. Tensors become handle numbers (0 for an undefined tensor); JS creates Tensors from them. The
// owner of a tensor is decided here, when its slot is created: the current scope, or outside every scope a guard that
// is returned with the handle. So any failure between here and JavaScript leaves only garbage, which the collector
// frees.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/QScheme.h>
#include <c10/core/Scalar.h>

#include <tuple>
#include <vector>

#include "native/convert/call.h"

namespace ltn {

napi_value write_double(Call& call, double value);
napi_value write_int(Call& call, int64_t value);  // a bigint if a number is not exact
napi_value write_bool(Call& call, bool value);
napi_value write_scalar(Call& call, const at::Scalar& value);  // complex: { re, im }
// A tensor in a list or among several results: inside a scope its handle number; outside, its guard, an array with that
// number.
napi_value write_element(Call& call, at::Tensor&& value);
// A tensor that is the whole result: its handle goes to Flags::result, which costs less than a number. Returns nothing
// inside a scope; outside, its guard, so that nothing between here and JavaScript can lose it.
napi_value write_result(Call& call, at::Tensor&& value);
// Its guard, an array with the number of its handle.
napi_value write_generator(Call& call, at::Generator value);
napi_value write_string(Call& call, const std::string& value);
napi_value new_array(Call& call, size_t length);
void set_element(Call& call, napi_value array, size_t index, napi_value value);

inline napi_value to_js(Call& c, at::Tensor&& v) { return write_element(c, std::move(v)); }
inline napi_value to_js(Call& c, double v) { return write_double(c, v); }
inline napi_value to_js(Call& c, int64_t v) { return write_int(c, v); }
inline napi_value to_js(Call& c, bool v) { return write_bool(c, v); }
inline napi_value to_js(Call& c, const at::Scalar& v) { return write_scalar(c, v); }
inline napi_value to_js(Call& c, c10::ScalarType v) { return write_int(c, static_cast<int64_t>(v)); }
inline napi_value to_js(Call& c, c10::QScheme v) { return write_string(c, c10::toString(v)); }
inline napi_value to_js(Call& c, at::Generator&& v) { return write_generator(c, std::move(v)); }
inline napi_value to_js(Call& c, std::string&& v) { return write_string(c, v); }

// Symbolic values, c10::SymInt and c10::SymBool. Here they always hold plain ones.
template <class T>
auto to_js(Call& c, const T& v) -> decltype(write_int(c, v.guard_int("", 0))) {
  return write_int(c, v.guard_int(__FILE__, __LINE__));
}
template <class T>
auto to_js(Call& c, const T& v) -> decltype(write_bool(c, v.guard_bool("", 0))) {
  return write_bool(c, v.guard_bool(__FILE__, __LINE__));
}

template <class T>
napi_value to_js(Call& c, std::vector<T>&& list) {
  napi_value array = new_array(c, list.size());
  for (size_t i = 0; i < list.size(); ++i) set_element(c, array, i, to_js(c, std::move(list[i])));
  return array;
}

template <class Tuple, size_t... I>
napi_value tuple_to_js(Call& c, Tuple&& tuple, std::index_sequence<I...>) {
  napi_value array = new_array(c, sizeof...(I));
  (set_element(c, array, I, to_js(c, std::move(std::get<I>(tuple)))), ...);
  return array;
}
template <class... T>
napi_value to_js(Call& c, std::tuple<T...>&& tuple) {
  return tuple_to_js(c, std::move(tuple), std::index_sequence_for<T...>{});
}

}  // namespace ltn
