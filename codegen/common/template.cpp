#include "codegen/common/template.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace codegen {

std::string fill(std::string_view text, TemplateValues values) {
  if (!text.empty() && text.front() == '\n') text.remove_prefix(1);
  std::string result;
  std::vector<bool> used(values.size());
  while (true) {
    const size_t open = text.find("${");
    result += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos) throw std::logic_error("a placeholder of a template is not closed");
    const std::string_view name = text.substr(open + 2, close - open - 2);
    const auto* const value =
        std::find_if(values.begin(), values.end(), [&](const auto& each) { return each.first == name; });
    if (value == values.end()) throw std::logic_error("a template lacks the value of ${" + std::string(name) + "}");
    result += value->second;
    used[static_cast<size_t>(value - values.begin())] = true;
    text.remove_prefix(close + 1);
  }
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused != used.end()) {
    const auto* const value = values.begin() + (unused - used.begin());
    throw std::logic_error("a template has no placeholder ${" + std::string(value->first) + "}");
  }
  return result;
}

}  // namespace codegen
