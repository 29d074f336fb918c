// For the tests of emit_dts: declarations from schemas, and the lines that a model's declarations have for a name.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/spec/parse_function.h"
#include "codegen/bindings/spec/type_rules.h"

namespace codegen {

// Parses "add.Tensor(Tensor self, …) -> Tensor"; a name's prefix '>' marks an out argument, '!' one written to.
inline Declaration op(const std::string& text) {
  Declaration declaration = parse_function(text);
  declaration.schema = "aten::" + text;
  declaration.is_function = true;
  const size_t dot = declaration.name.find('.');
  if (dot != std::string::npos) {
    declaration.overload = declaration.name.substr(dot + 1);
    declaration.name.resize(dot);
  }
  for (Argument& argument : declaration.arguments) {
    argument.out = argument.name[0] == '>';
    argument.mutated = argument.out || argument.name[0] == '!';
    if (!argument.mutated) continue;
    argument.name.erase(0, 1);
    argument.alias = "a!";
    if (declaration.returns.size() == 1) declaration.returns[0].alias = "a!";
  }
  return declaration;
}

inline Files emitted(const std::vector<Declaration>& declarations, const Spec& spec = {}) {
  Model model;
  model.declarations = declarations;
  return emit_dts(make_plan(model, spec));
}

// The lines of a file that declare `name`, without the indentation.
inline std::vector<std::string> lines_of(const Files& files, const std::string& file, const std::string& name) {
  std::vector<std::string> lines;
  std::istringstream text(files.at("types/generated/" + file));
  for (std::string line; std::getline(text, line);) {
    const size_t start = line.find_first_not_of(' ');
    if (start != std::string::npos && line.compare(start, name.size(), name) == 0) lines.push_back(line.substr(start));
  }
  return lines;
}

using Lines = std::vector<std::string>;

// A rule as in types.yaml.
inline TypeRule rule(const std::string& op, std::vector<TypeRule::Bind> binds, const std::string& result,
                     std::map<std::string, std::string> checks = {}) {
  TypeRule made;
  made.ops = {op};
  made.binds = std::move(binds);
  made.results = {result};
  made.checks = std::move(checks);
  return made;
}

}  // namespace codegen
