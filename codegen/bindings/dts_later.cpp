#include <set>

#include "codegen/bindings/dts_members.h"

namespace codegen {
namespace {

bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

size_t word_end(const std::string& text, size_t at) {
  while (at < text.size() && is_word(text[at])) ++at;
  return at;
}

// Wraps each of the names from `at` on in Awaited<…>.
std::string awaited(const std::string& text, const std::set<std::string>& names, size_t at = 0) {
  std::string result = text.substr(0, at);
  while (at < text.size()) {
    const size_t end = is_word(text[at]) ? word_end(text, at) : at + 1;
    const std::string piece = text.substr(at, end - at);
    result += names.count(piece) != 0 ? "Awaited<" + piece + ">" : piece;
    at = end;
  }
  return result;
}

}  // namespace

std::string with_word(const std::string& text, const std::string& word, const std::string& other) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = is_word(text[at]) ? word_end(text, at) : at + 1;
    const std::string piece = text.substr(at, end - at);
    result += piece == word ? other : piece;
    at = end;
  }
  return result;
}

CallShape later(CallShape shape) {
  // A tensor's type parameter is the type of the argument, which may be a promise, so rules apply to its awaited type.
  std::set<std::string> tensors;
  std::set<std::string> lists{"TensorList"};
  for (TypeParameter& parameter : shape.type_parameters) {
    if (parameter.constraint == "TensorList") lists.insert(parameter.name);
    // A tensor that the op writes to cannot be a promise.
    if (parameter.constraint != "Tensor" || parameter.name == "TOut") continue;
    parameter.constraint = "Tensor | PromiseLike<Tensor>";
    tensors.insert(parameter.name);
  }
  for (std::vector<Parameter>* parameters : {&shape.positional, &shape.named}) {
    for (Parameter& parameter : *parameters) {
      // The parameter keeps the given type; its check applies to the awaited type.
      const std::string fits = "Fits<";
      const size_t start = parameter.type.compare(0, fits.size(), fits) == 0 ? fits.size() : 0;
      const size_t end = word_end(parameter.type, start);
      const std::string word = parameter.type.substr(start, end - start);
      parameter.type = awaited(parameter.type, tensors, end);
      if (parameter.name == "out") continue;
      if (lists.count(word) != 0) parameter.type = "(" + parameter.type + ") | readonly PromiseLike<Tensor>[]";
      const bool plain = end == parameter.type.size() || parameter.type.compare(end, 3, " | ") == 0;
      if (word == "Tensor" && plain) parameter.type += " | PromiseLike<Tensor>";
    }
  }
  for (std::string* text : {&shape.result, &shape.spread_result}) {
    if (!text->empty()) *text = "Later<K, " + awaited(*text, tensors) + ">";
  }
  shape.spread_check = awaited(shape.spread_check, tensors);
  shape.named.push_back({"signal", "Signal", true});
  return shape;
}

}  // namespace codegen
