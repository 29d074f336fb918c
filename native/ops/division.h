// Guards of integer division. Processors have no result for the lowest integer divided by -1: they stop the process
// (SIGFPE), as they do for a division by 0, which the kernels check.
#pragma once

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "native/compat.h"
#include "native/ops/elements.h"

namespace ltn {

// Whether an element equals `wanted` once it is converted to that type.
template <class To>
bool holds_in_memory(const at::Tensor& plain, To wanted) {
  const auto is_wanted = [wanted](auto number) {
    return std::is_signed<decltype(number)>::value && static_cast<To>(number) == wanted;
  };
  return any_integer(plain, is_wanted, [] { return false; });
}

template <class To>
bool holds_number(const at::Tensor& numbers, To wanted) {
  if (are_plain(numbers)) return holds_in_memory<To>(numbers, wanted);
  if (!numbers.is_cpu() || numbers.is_nested() || numbers._is_zerotensor() || numbers.numel() == 0) return false;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;  // a check is not one of the program's ops
  if (numbers.layout() == at::kSparse) return holds_number(numbers._values(), wanted);
  if (numbers.layout() != at::kStrided) return holds_number(numbers.values(), wanted);
  return holds_in_memory<To>(numbers.resolve_neg().contiguous(), wanted);
}

template <class To>
bool holds_number(const at::Scalar& number, To wanted) {
  return number.isIntegral(false) && static_cast<To>(number.to<int64_t>()) == wanted;
}

inline bool is_integral(const at::Tensor& numbers) { return at::isIntegralType(numbers.scalar_type(), false); }
inline bool is_integral(const at::Scalar& number) { return number.isIntegral(false); }

template <class To, class Self, class Other>
bool divides_lowest(const Self& self, const Other& other) {
  return holds_number<To>(other, -1) && holds_number<To>(self, std::numeric_limits<To>::min());
}

// Of two tensors, whether one of the pairs is so. The op itself refuses sizes that do not fit.
template <class To>
bool divides_lowest(const at::Tensor& self, const at::Tensor& other) {
  if (!holds_number<To>(other, -1) || !holds_number<To>(self, std::numeric_limits<To>::min())) return false;
  if (self.layout() != at::kStrided || other.layout() != at::kStrided) return true;
  if (!at::are_expandable(self.sizes(), other.sizes())) return false;
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;                       // a check is not one of the program's ops
  constexpr at::ScalarType kType = c10::CppTypeToScalarType<To>::value;  // that of the result
  const auto lowest = static_cast<int64_t>(std::numeric_limits<To>::min());
  return self.to(kType).eq(lowest).logical_and(other.to(kType).eq(-1)).any().item<bool>();
}

template <class Self, class Other>
at::ScalarType common_type(const Self& self, const Other& other) {
  return at::result_type(self, other);
}

// Without the general rules, which cost more than the op's other checks.
inline at::ScalarType common_type(const at::Tensor& self, const at::Tensor& other) {
  return self.scalar_type() == other.scalar_type() ? self.scalar_type() : at::result_type(self, other);
}

// Whether the lowest integer is divided by -1. `Self` and `Other` are tensors or a number. Smaller types are divided as
// int32, which has the result.
template <class Self, class Other>
bool overflows(const Self& self, const Other& other) {
  if (!is_integral(self) || !is_integral(other)) return false;
  switch (common_type(self, other)) {
    case at::kInt:
      return divides_lowest<int32_t>(self, other);
    case at::kLong:
      return divides_lowest<int64_t>(self, other);
    default:
      return false;
  }
}

// For floor_divide, remainder and fmod.
template <class Self, class Other>
bool has_remainder(const Self& self, const Other& other) {
  return !compat::kRemainderOverflows || !overflows(self, other);
}

// For div, which rounds if it has a mode.
template <class Self, class Other, class Mode>
bool has_quotient(const Self& self, const Other& other, const Mode& mode) {
  if (!mode.has_value()) return true;
  return (!compat::kRemainderOverflows && *mode == "floor") || !overflows(self, other);
}

// For lcm, which divides by the greatest common divisor: -1 for the lowest integer and some others.
inline bool has_multiple(const at::Tensor& self, const at::Tensor& other) {
  if (!is_integral(self) || !is_integral(other)) return true;
  switch (common_type(self, other)) {
    case at::kInt:
      return !holds_number(self, std::numeric_limits<int32_t>::min());
    case at::kLong:
      return !holds_number(self, std::numeric_limits<int64_t>::min());
    default:
      return true;
  }
}

}  // namespace ltn
