#include "codegen/common/numbers.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace codegen {

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";

  // to_chars finds the shortest digits; the position of the point follows Python.
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string text(buffer, end);
  const bool negative = text[0] == '-';
  const std::size_t e = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const int exponent = std::atoi(text.c_str() + e + 1);
  const int count = static_cast<int>(digits.size());

  std::string result;
  if (exponent < -4 || exponent >= 16) {
    result = digits.substr(0, 1);
    if (count > 1) result += "." + digits.substr(1);
    const std::string magnitude = std::to_string(std::abs(exponent));
    result += std::string("e") + (exponent < 0 ? "-" : "+") + (magnitude.size() < 2 ? "0" : "") + magnitude;
  } else if (exponent < 0) {
    result = "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  } else if (count <= exponent + 1) {
    result = digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  } else {
    const auto whole = static_cast<std::size_t>(exponent + 1);
    result = digits.substr(0, whole) + "." + digits.substr(whole);
  }
  return negative ? "-" + result : result;
}

}  // namespace codegen
