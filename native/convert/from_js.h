// JS value -> C++ argument, one converter per C++ type that at::_ops functions take.
//
// A converter holds what the C++ value refers to, so that views (ArrayRef, string_view) are valid during the call:
//   FromJs<T> holder(call, index);  op(holder.get());
// An unknown type does not compile. CONTRIBUTING.md, 'add an argument type', lists what a new one needs.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/Stream.h>
#include <c10/core/SymInt.h>
#include <c10/util/Optional.h>
#include <c10/util/OptionalArrayRef.h>
#include <c10/util/string_view.h>

#include <array>
#include <string>
#include <type_traits>
#include <utility>

#include "codegen/model/fit.h"
#include "native/compat.h"
#include "native/convert/call.h"

#ifdef LTN_HAS_DIMNAMES
#include <ATen/core/Dimname.h>
#endif

namespace ltn {

// What an argument of a base type expects, from the table that codegen and TypeScript use too.
using codegen::Base;
using codegen::Plain;
std::string expected_of(Base base);  // "an integer"
constexpr bool is_plain(Base base, Plain plain) { return codegen::fit_of(base).plain == plain; }

// ---- single values, out of line: one copy for all ops (from_js.cpp) ----
int64_t read_int(Call& call, napi_value value, size_t index);
double read_double(Call& call, napi_value value, size_t index);
bool read_bool(Call& call, napi_value value, size_t index);
std::string read_string(Call& call, napi_value value, size_t index);
// As in Python, where 1 and 1.0 differ: a number without a fraction is an integer. So is -0, which JavaScript produces
// for `-x`, if the call has only integers; otherwise it stays -0.0.
at::Scalar scalar_of(Call& call, double number);
at::Scalar read_scalar(Call& call, napi_value value, size_t index);
c10::Device read_device(Call& call, napi_value value, size_t index);
c10::DeviceIndex read_device_index(Call& call, napi_value value, size_t index);
at::Generator read_generator(Call& call, napi_value value, size_t index);
at::Storage read_storage(Call& call, napi_value value, size_t index);
c10::Stream read_stream(Call& call, napi_value value, size_t index);
// A number that JS looked up in `native.enums`; refuses numbers outside the enum.
int64_t read_enum(Call& call, napi_value value, size_t index, int64_t count, Base base);
bool is_null(Call& call, napi_value value);
// Whether argument `index` is null, undefined or not passed.
inline bool is_absent(Call& call, size_t index) { return index >= call.given || is_null(call, call.arguments[index]); }
// A short list of integers or handles is passed in Flags::ints, which costs a tenth of an array: `value` is then a
// number, Flags::kPackedLengths * first + length (packed() in lib/call/packed.ts). Null for every other value.
struct Packed {
  const double* first = nullptr;
  size_t length = 0;
};
Packed read_packed(const Call& call, napi_value value);
// The tensor of a handle number; null for a pending or a disposed one. Never throws.
const at::Tensor* peek_tensor(const Call& call, napi_value value) noexcept;
const at::Tensor* peek_tensor(const Call& call, double handle) noexcept;
// Calls `fn` with each tensor of a list, as peek_tensor gives it. Returns the length, or nothing if it is not a list.
template <class Fn>
c10::optional<size_t> peek_tensors(const Call& call, napi_value list, const Fn& fn) {
  if (const Packed packed = read_packed(call, list); packed.first != nullptr) {
    for (size_t i = 0; i < packed.length; ++i) fn(peek_tensor(call, packed.first[i]));
    return packed.length;
  }
  uint32_t length = 0;
  if (napi_get_array_length(call.env, list, &length) != napi_ok) return c10::nullopt;
  for (uint32_t i = 0; i < length; ++i) {
    napi_value element = nullptr;
    if (napi_get_element(call.env, list, i, &element) == napi_ok) fn(peek_tensor(call, element));
  }
  return length;
}
bool is_null_tensor(Call& call, napi_value value);  // null, undefined or the handle 0
// The length of an array. Throws BadArgument with `expected`, or with the type of the elements.
uint32_t list_length(Call& call, napi_value value, size_t index, const char* expected);
uint32_t list_length(Call& call, napi_value value, size_t index, Base element);
napi_value list_element(Call& call, napi_value value, uint32_t position);

// ---- element readers by C++ type: `base` is its row in the table, whose plain values `read` takes ----
template <class T>
struct Element;
template <>
struct Element<int64_t> {
  static constexpr Base base = Base::Int;
  static int64_t read(Call& c, napi_value v, size_t i) { return read_int(c, v, i); }
};
template <>
struct Element<c10::SymInt> {
  static constexpr Base base = Base::Int;
  static c10::SymInt read(Call& c, napi_value v, size_t i) { return c10::SymInt(read_int(c, v, i)); }
};
template <>
struct Element<c10::DeviceIndex> {
  static constexpr Base base = Base::DeviceIndex;
  static c10::DeviceIndex read(Call& c, napi_value v, size_t i) { return read_device_index(c, v, i); }
};
template <>
struct Element<double> {
  static constexpr Base base = Base::Float;
  static double read(Call& c, napi_value v, size_t i) { return read_double(c, v, i); }
};
template <>
struct Element<bool> {
  static constexpr Base base = Base::Bool;
  static bool read(Call& c, napi_value v, size_t i) { return read_bool(c, v, i); }
};
template <>
struct Element<at::Scalar> {
  static constexpr Base base = Base::Scalar;
  static at::Scalar read(Call& c, napi_value v, size_t i) { return read_scalar(c, v, i); }
};
#ifdef LTN_HAS_DIMNAMES
at::Dimname read_dimname(Call& call, napi_value value, size_t index);
template <>
struct Element<at::Dimname> {
  static constexpr Base base = Base::Dimname;
  static at::Dimname read(Call& c, napi_value v, size_t i) { return read_dimname(c, v, i); }
};
#endif
template <>
struct Element<at::Tensor> {
  static constexpr Base base = Base::Tensor;
  static at::Tensor read(Call& c, napi_value v, size_t i) { return c.tensor(v, i); }
};
template <>
struct Element<c10::optional<at::Tensor>> {
  static constexpr Base base = Base::Tensor;
  static c10::optional<at::Tensor> read(Call& c, napi_value v, size_t i) {
    if (is_null_tensor(c, v)) return c10::nullopt;
    return c.tensor(v, i);
  }
};
template <>
struct Element<c10::Device> {
  static constexpr Base base = Base::Device;
  static c10::Device read(Call& c, napi_value v, size_t i) { return read_device(c, v, i); }
};
template <>
struct Element<at::Generator> {
  static constexpr Base base = Base::Generator;
  static at::Generator read(Call& c, napi_value v, size_t i) { return read_generator(c, v, i); }
};
template <>
struct Element<at::Storage> {
  static constexpr Base base = Base::Storage;
  static at::Storage read(Call& c, napi_value v, size_t i) { return read_storage(c, v, i); }
};
template <>
struct Element<c10::Stream> {
  static constexpr Base base = Base::Stream;
  static c10::Stream read(Call& c, napi_value v, size_t i) { return read_stream(c, v, i); }
};
template <>
struct Element<c10::ScalarType> {
  static constexpr Base base = Base::Dtype;
  static c10::ScalarType read(Call& c, napi_value v, size_t i) {
    return static_cast<c10::ScalarType>(read_enum(c, v, i, static_cast<int64_t>(c10::ScalarType::NumOptions), base));
  }
};
template <>
struct Element<c10::Layout> {
  static constexpr Base base = Base::Layout;
  static c10::Layout read(Call& c, napi_value v, size_t i) {
    return static_cast<c10::Layout>(read_enum(c, v, i, static_cast<int64_t>(c10::Layout::NumOptions), base));
  }
};
template <>
struct Element<c10::MemoryFormat> {
  static constexpr Base base = Base::MemoryFormat;
  static c10::MemoryFormat read(Call& c, napi_value v, size_t i) {
    return static_cast<c10::MemoryFormat>(
        read_enum(c, v, i, static_cast<int64_t>(c10::MemoryFormat::ChannelsLast3d) + 1, base));
  }
};

int64_t read_packed_int(Call& call, double number, size_t index);
at::Tensor& read_packed_tensor(Call& call, double number, size_t index);

template <class T, unsigned N = 8>
c10::SmallVector<T, N> read_list(Call& c, napi_value v, size_t index) {
  c10::SmallVector<T, N> list;  // single return value, so that it is constructed in place
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, c10::SymInt>) {
    if (const Packed packed = read_packed(c, v); packed.first != nullptr) {
      list.reserve(packed.length);
      for (size_t i = 0; i < packed.length; ++i) list.push_back(T(read_packed_int(c, packed.first[i], index)));
      return list;
    }
  }
  if constexpr (std::is_same_v<T, at::Tensor>) {
    if (const Packed packed = read_packed(c, v); packed.first != nullptr) {
      list.reserve(packed.length);
      for (size_t i = 0; i < packed.length; ++i) list.push_back(read_packed_tensor(c, packed.first[i], index));
      return list;
    }
  }
  const uint32_t length = list_length(c, v, index, Element<T>::base);
  list.reserve(length);
  for (uint32_t i = 0; i < length; ++i) list.push_back(Element<T>::read(c, list_element(c, v, i), index));
  return list;
}

// ---- whole arguments ----
template <class T>
struct FromJs {  // plain values
  using Value = std::remove_cv_t<std::remove_reference_t<T>>;
  FromJs(Call& c, size_t i) : value(Element<Value>::read(c, c.arguments[i], i)) {}
  T get() { return value; }
  Value value;
};

template <>
struct FromJs<const at::Tensor&> {
  FromJs(Call& c, size_t i) : tensor(c.tensor(c.arguments[i], i)) {}
  const at::Tensor& get() { return tensor; }
  const at::Tensor& tensor;
};
template <>
struct FromJs<at::Tensor&> {
  FromJs(Call& c, size_t i) : tensor(c.tensor(c.arguments[i], i)) {}
  at::Tensor& get() { return tensor; }
  at::Tensor& tensor;
};
template <>
struct FromJs<at::Tensor> {
  FromJs(Call& c, size_t i) : tensor(c.tensor(c.arguments[i], i)) {}
  const at::Tensor& get() { return tensor; }
  const at::Tensor& tensor;
};
template <>
struct FromJs<const c10::optional<at::Tensor>&> {
  FromJs(Call& c, size_t i) {
    if (i < c.given) value = Element<c10::optional<at::Tensor>>::read(c, c.arguments[i], i);
  }
  const c10::optional<at::Tensor>& get() { return value; }
  c10::optional<at::Tensor> value;
};
template <>
struct FromJs<c10::optional<at::Tensor>> : FromJs<const c10::optional<at::Tensor>&> {
  using FromJs<const c10::optional<at::Tensor>&>::FromJs;
};

template <class T>
struct FromJs<c10::ArrayRef<T>> {
  FromJs(Call& c, size_t i) : list(read_list<T>(c, c.arguments[i], i)) {}
  c10::ArrayRef<T> get() { return list; }
  c10::SmallVector<T, 8> list;
};
template <>
struct FromJs<const at::ITensorListRef&> {
  FromJs(Call& c, size_t i) : list(read_list<at::Tensor>(c, c.arguments[i], i)), ref(at::TensorList(list)) {}
  FromJs(const FromJs&) = delete;
  const at::ITensorListRef& get() { return ref; }
  c10::SmallVector<at::Tensor, 8> list;
  at::ITensorListRef ref;
};
template <>
struct FromJs<const c10::List<c10::optional<at::Tensor>>&> {
  FromJs(Call& c, size_t i) {
    if (const Packed packed = read_packed(c, c.arguments[i]); packed.first != nullptr) {
      list.reserve(packed.length);
      for (size_t p = 0; p < packed.length; ++p) {
        const double number = packed.first[p];
        list.push_back(number == 0 ? c10::optional<at::Tensor>() : read_packed_tensor(c, number, i));
      }
      return;
    }
    const uint32_t length = list_length(c, c.arguments[i], i, Element<c10::optional<at::Tensor>>::base);
    list.reserve(length);
    for (uint32_t p = 0; p < length; ++p) {
      list.push_back(Element<c10::optional<at::Tensor>>::read(c, list_element(c, c.arguments[i], p), i));
    }
  }
  const c10::List<c10::optional<at::Tensor>>& get() { return list; }
  c10::List<c10::optional<at::Tensor>> list;
};

template <class T>
struct FromJs<c10::optional<T>> {
  FromJs(Call& c, size_t i) {
    if (!is_absent(c, i)) value.emplace(Element<T>::read(c, c.arguments[i], i));
  }
  const c10::optional<T>& get() { return value; }
  c10::optional<T> value;
};
template <class T>
struct FromJs<const c10::optional<T>&> : FromJs<c10::optional<T>> {
  using FromJs<c10::optional<T>>::FromJs;
};
template <class T>
struct FromJs<c10::optional<c10::ArrayRef<T>>> {
  FromJs(Call& c, size_t i) : given(!is_absent(c, i)) {
    if (given) list = read_list<T>(c, c.arguments[i], i);
  }
  c10::optional<c10::ArrayRef<T>> get() {
    if (!given) return c10::nullopt;
    return c10::ArrayRef<T>(list);
  }
  bool given;
  c10::SmallVector<T, 8> list;
};
template <class T>
struct FromJs<c10::OptionalArrayRef<T>> : FromJs<c10::optional<c10::ArrayRef<T>>> {
  using Base = FromJs<c10::optional<c10::ArrayRef<T>>>;
  using Base::Base;
  c10::OptionalArrayRef<T> get() {
    if (!this->given) return c10::nullopt;
    return c10::ArrayRef<T>(this->list);
  }
};

template <>
struct FromJs<c10::string_view> {
  FromJs(Call& c, size_t i) : text(read_string(c, c.arguments[i], i)) {}
  c10::string_view get() { return text; }
  std::string text;
};
template <>
struct FromJs<c10::optional<c10::string_view>> {
  FromJs(Call& c, size_t i) : given(!is_absent(c, i)) {
    if (given) text = read_string(c, c.arguments[i], i);
  }
  c10::optional<c10::string_view> get() {
    if (!given) return c10::nullopt;
    return c10::string_view(text);
  }
  bool given;
  std::string text;
};

template <size_t N>
struct FromJs<std::array<bool, N>> {
  FromJs(Call& c, size_t i) {
    const uint32_t length = list_length(c, c.arguments[i], i, Element<bool>::base);
    if (length != N) {
      throw BadArgument(i, "an array of " + std::to_string(N) + " booleans", std::to_string(length) + " elements");
    }
    for (uint32_t p = 0; p < N; ++p) value[p] = read_bool(c, list_element(c, c.arguments[i], p), i);
  }
  std::array<bool, N> get() { return value; }
  std::array<bool, N> value{};
};

}  // namespace ltn
