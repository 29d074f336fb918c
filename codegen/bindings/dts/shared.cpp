#include <set>

#include "codegen/bindings/dts/members.h"
#include "codegen/bindings/text/names.h"

namespace codegen {
namespace {

size_t word_end(const std::string& text, size_t at) {
  while (at < text.size() && is_word(text[at])) ++at;
  return at;
}

// The end of the bracket that opens before `at`.
size_t bracket_end(const std::string& text, size_t at) {
  for (int depth = 1; at < text.size(); ++at) {
    if (text[at] == '<') ++depth;
    if (text[at] == '>' && --depth == 0) break;
  }
  return at;
}

// The type of a tensor argument, or of a list of tensors, by the mode of the call.
std::string argument_type(const std::string& type, const std::set<std::string>& tensors,
                          const std::set<std::string>& lists) {
  const std::string fits = "Fits<";
  if (type.rfind(fits, 0) == 0) return "FitsIn<K, " + type.substr(fits.size());
  const size_t end = word_end(type, 0);
  const std::string word = type.substr(0, end);
  const std::string rest = type.substr(end);
  const bool plain = rest.empty() || rest.compare(0, 3, " | ") == 0;
  if (lists.count(word) != 0) return type + " | Promises";
  if (plain && tensors.count(word) != 0) return "In<K, " + word + ">" + rest;
  return plain && word == "Tensor" ? "Given" + rest : type;
}

// The type that a call returns, by its mode.
std::string result_in(const std::string& type) {
  const std::string tensor = "TensorOf<";
  if (type == "Tensor") return "Made";
  if (type.rfind(tensor, 0) == 0 && bracket_end(type, tensor.size()) + 1 == type.size()) {
    return "Out<K, " + type.substr(tensor.size());
  }
  return "Result<K, " + type + ">";
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

CallShape shared(CallShape shape) {
  std::set<std::string> tensors;
  std::set<std::string> lists{"TensorList"};
  for (const TypeParameter& parameter : shape.type_parameters) {
    if (parameter.constraint == "TensorList") lists.insert(parameter.name);
    if (parameter.constraint == "Tensor") tensors.insert(parameter.name);
  }
  for (std::vector<Parameter>* parameters : {&shape.positional, &shape.named}) {
    for (Parameter& parameter : *parameters) {
      // A tensor that the op writes to cannot be a promise.
      if (parameter.name != "out") parameter.type = argument_type(parameter.type, tensors, lists);
    }
  }
  shape.result = result_in(shape.result);
  shape.shared = true;
  return shape;
}

}  // namespace codegen
