#include "native/schema/dtypes.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <unordered_map>

namespace ltn {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::string dtype_name(c10::ScalarType type) {
  // The C++ names that differ from Python's by more than case.
  static const auto* names = new std::unordered_map<std::string, std::string>{
      // constant data, never freed
      {"Byte", "uint8"},
      {"Char", "int8"},
      {"Short", "int16"},
      {"Int", "int32"},
      {"Long", "int64"},
      {"Half", "float16"},
      {"Float", "float32"},
      {"Double", "float64"},
      {"ComplexHalf", "complex32"},
      {"ComplexFloat", "complex64"},
      {"ComplexDouble", "complex128"},
  };
  const std::string cpp = c10::toString(type);
  const auto found = names->find(cpp);
  return found != names->end() ? found->second : lower(cpp);
}

const std::vector<std::string>& dtype_names() {
  static const auto* all = [] {
    auto* names = new std::vector<std::string>;  // constant data, never freed
    for (int number = 0; number < static_cast<int>(c10::ScalarType::Undefined); ++number)
      names->push_back(dtype_name(static_cast<c10::ScalarType>(number)));
    return names;
  }();
  return *all;
}

std::string layout_name(c10::Layout layout) {
  std::ostringstream text;
  text << layout;  // "Strided", "Sparse", "SparseCsr"
  const std::string cpp = text.str();
  if (cpp == "Sparse") return "sparse_coo";
  std::string name;
  for (const char c : cpp) {
    if (std::isupper(static_cast<unsigned char>(c)) && !name.empty()) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name == "mkldnn" ? "_mkldnn" : name;
}

std::string memory_format_name(c10::MemoryFormat format) {
  switch (format) {
    case c10::MemoryFormat::Contiguous:
      return "contiguous";
    case c10::MemoryFormat::Preserve:
      return "preserve";
    case c10::MemoryFormat::ChannelsLast:
      return "channels_last";
    case c10::MemoryFormat::ChannelsLast3d:
      return "channels_last_3d";
    default:
      return "unknown";
  }
}

}  // namespace ltn
