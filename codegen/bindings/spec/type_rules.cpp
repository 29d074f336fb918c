#include "codegen/bindings/spec/type_rules.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "codegen/bindings/text/js_text.h"
#include "codegen/bindings/text/names.h"
#include "codegen/common/diagnostics.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

std::string word_at(const std::string& text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

// "int[]" -> (Int, list)
TypeRule::Bind parse_bind(const std::string& name, std::string spelling) {
  TypeRule::Bind bind;
  bind.argument = name;
  bind.list = spelling.size() > 2 && spelling.compare(spelling.size() - 2, 2, "[]") == 0;
  if (bind.list) spelling.resize(spelling.size() - 2);
  for (const TypeRow& row : type_table()) {
    if (spelling != row.schema_name) continue;
    bind.base = row.base;
    return bind;
  }
  throw std::invalid_argument(spelling);
}

bool has_argument(const Declaration& declaration, const TypeRule::Bind& bind) {
  return std::any_of(declaration.arguments.begin(), declaration.arguments.end(), [&](const Argument& argument) {
    return !argument.out && argument.name == bind.argument && argument.type.base == bind.base &&
           argument.type.list == bind.list;
  });
}

// Whether the rule binds or ignores the argument, if it is a dimension (by index or name): those determine the shape.
bool accounts_for(const TypeRule& rule, const Argument& argument) {
  const bool decides = argument.type.base == Base::Dimname ? !argument.kwarg_only : is_dimension(argument);
  return !decides || rule.ignores.count(argument.name) != 0 ||
         std::any_of(rule.binds.begin(), rule.binds.end(),
                     [&](const TypeRule::Bind& bind) { return bind.argument == argument.name; });
}

bool follows(const TypeRule& rule, const Declaration& declaration) {
  return declaration.returns.size() == rule.results.size() &&
         std::all_of(declaration.arguments.begin(), declaration.arguments.end(),
                     [&](const Argument& argument) { return accounts_for(rule, argument); }) &&
         std::all_of(rule.binds.begin(), rule.binds.end(),
                     [&](const TypeRule::Bind& bind) { return has_argument(declaration, bind); });
}

// "add_" follows the rules of "add", unless it has its own.
std::string name_without_underscore(const std::string& name) {
  return name.size() > 1 && name.back() == '_' ? name.substr(0, name.size() - 1) : name;
}

bool has_name(const std::set<std::string>& ops, const Declaration& declaration) {
  return ops.count(declaration.name) != 0 || ops.count(name_without_underscore(declaration.name)) != 0;
}

bool names(const TypeRule& rule, const Declaration& declaration) { return has_name(rule.ops, declaration); }

std::vector<std::string> expressions_of(const TypeRule& rule) {
  std::vector<std::string> all = rule.results;
  for (const auto& [argument, check] : rule.checks) all.push_back(check);
  return all;
}

}  // namespace

std::vector<TypeRule> load_type_rules(const std::filesystem::path& path) {
  std::vector<TypeRule> rules;
  const std::string file = path.string();
  try {
    for (const YAML::Node& node : YAML::LoadFile(file)["rules"]) {
      TypeRule rule;
      rule.line = node.Mark().line + 1;
      const auto fail = [&](const std::string& message, const std::string& expected) {
        throw Error(file, rule.line, message, expected);
      };
      for (const YAML::Node& op : node["ops"]) rule.ops.insert(op.as<std::string>());
      for (const auto& bind : node["binds"]) {
        const auto spelling = bind.second.as<std::string>();
        try {
          rule.binds.push_back(parse_bind(bind.first.as<std::string>(), spelling));
        } catch (const std::invalid_argument&) {
          // Rethrown with the line.
          fail("unknown type '" + spelling + "'", "a type of the type table, such as Tensor or int[]");
        }
      }
      rule.newer = node["newer"] && node["newer"].as<bool>();
      rule.reshapes = node["reshapes"] && node["reshapes"].as<bool>();
      for (const YAML::Node& argument : node["ignores"]) rule.ignores.insert(argument.as<std::string>());
      if (node["result"]) rule.results.push_back(node["result"].as<std::string>());
      for (const YAML::Node& result : node["results"]) rule.results.push_back(result.as<std::string>());
      for (const auto& check : node["checks"])
        rule.checks[check.first.as<std::string>()] = check.second.as<std::string>();
      if (rule.ops.empty() || rule.binds.empty() || rule.results.empty())
        fail("the rule is incomplete", "ops, binds, result");
      for (const std::string& expression : expressions_of(rule)) {
        for (size_t at = expression.find('$'); at != std::string::npos; at = expression.find('$', at + 1)) {
          const std::string name = word_at(expression, at + 1);
          if (std::none_of(rule.binds.begin(), rule.binds.end(), [&](const auto& b) { return b.argument == name; })) {
            fail("'$" + name + "' is not among the rule's binds", "an argument that the rule binds");
          }
        }
      }
      rules.push_back(std::move(rule));
    }
  } catch (const YAML::BadFile&) {
    throw Error(file, 0, "the file cannot be read");
  } catch (const YAML::Exception& error) {
    throw Error(file, error.mark.line + 1, error.msg, "a rule in the format that the head of the file describes");
  }
  return rules;
}

std::vector<StringRule> load_string_rules(const std::filesystem::path& path) {
  std::vector<StringRule> rules;
  const std::string file = path.string();
  try {
    for (const YAML::Node& node : YAML::LoadFile(file)["strings"]) {
      StringRule rule;
      rule.line = node.Mark().line + 1;
      for (const YAML::Node& op : node["ops"]) rule.ops.insert(op.as<std::string>());
      rule.argument = node["argument"].as<std::string>("");
      for (const YAML::Node& value : node["values"]) {
        rule.type += (rule.type.empty() ? "" : " | ") + js_string(value.as<std::string>());
      }
      if (rule.argument.empty() || rule.type.empty()) {
        throw Error(file, rule.line, "the string is incomplete", "argument, values");
      }
      rules.push_back(std::move(rule));
    }
  } catch (const YAML::Exception& error) {
    throw Error(file, error.mark.line + 1, error.msg, "a string in the format that the head of the file describes");
  }
  return rules;
}

bool is_dimension(const Argument& argument) {
  const std::string& name = argument.name;
  const bool ends = name.size() > 4 && name.compare(name.size() - 4, 4, "_dim") == 0;
  return argument.type.base == Base::Int && (name.compare(0, 3, "dim") == 0 || name.compare(0, 4, "axis") == 0 || ends);
}

std::string type_parameter_name(const Argument& argument) {
  std::string name = camel_case(argument.name);
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return "T" + name;
}

const TypeRule* rule_of(const Spec& spec, const Declaration& declaration) {
  for (const bool exactly : {true, false}) {
    for (const TypeRule& rule : spec.type_rules) {
      const bool named = exactly ? rule.ops.count(declaration.name) != 0 : names(rule, declaration);
      if (named && follows(rule, declaration)) return &rule;
    }
  }
  return nullptr;
}

std::optional<Declaration> with_number_first(const Spec& spec, const Declaration& declaration) {
  const auto is_operand = [](const Argument& argument) {
    const Type& type = argument.type;
    return type.base == Base::Tensor && !type.list && !type.nullable && !argument.mutated;
  };
  const auto& arguments = declaration.arguments;
  if (arguments.size() < 2 || !is_operand(arguments[0]) || !is_operand(arguments[1])) return std::nullopt;
  Declaration changed = declaration;
  changed.arguments[0].type.base = Base::Scalar;
  const TypeRule* const rule = rule_of(spec, changed);
  const bool is_bound = rule != nullptr && std::any_of(rule->binds.begin(), rule->binds.end(), [&](const auto& bind) {
                          return bind.argument == arguments[0].name && bind.base == Base::Scalar;
                        });
  return is_bound ? std::optional(changed) : std::nullopt;
}

const StringRule* string_rule_of(const Spec& spec, const Declaration& declaration, const Argument& argument) {
  if (argument.type.base != Base::Str || argument.type.list) return nullptr;
  for (const StringRule& rule : spec.string_rules) {
    if (rule.argument == argument.name && (rule.ops.empty() || has_name(rule.ops, declaration))) return &rule;
  }
  return nullptr;
}

std::string instantiate(const std::string& expression, const Declaration& declaration) {
  std::string text;
  for (size_t at = 0; at < expression.size(); ++at) {
    if (expression[at] != '$') {
      text += expression[at];
      continue;
    }
    const std::string name = word_at(expression, at + 1);
    at += name.size();
    for (const Argument& argument : declaration.arguments) {
      if (argument.name == name) text += type_parameter_name(argument);
    }
  }
  return text;
}

std::vector<std::string> algebra_names(const Spec& spec) {
  static const std::set<std::string> elsewhere{"Tensor", "Shape", "DType"};
  std::set<std::string> names{"AtLeastOne", "FirstOf", "Fits", "OutOr"};
  for (const TypeRule& rule : spec.type_rules) {
    for (const std::string& expression : expressions_of(rule)) {
      for (size_t at = 0; at < expression.size(); ++at) {
        if (expression[at] == '\'') {
          at = expression.find('\'', at + 1);  // a string literal
          continue;
        }
        if (expression[at] == '$') {
          at += word_at(expression, at + 1).size();  // an argument, which may have a capital name: A and B of linalg
          continue;
        }
        if (!is_word(expression[at])) continue;
        const std::string word = word_at(expression, at);
        const bool is_type = std::isupper(static_cast<unsigned char>(word[0])) != 0;
        if (is_type && elsewhere.count(word) == 0) names.insert(word);
        at += word.size() - 1;
      }
    }
  }
  return {names.begin(), names.end()};
}

void check_rules(const Spec& spec, const Model& model) {
  std::vector<const Declaration*> declarations;
  for (const Declaration& declaration : model.declarations) declarations.push_back(&declaration);
  for (const PublicFunction& function : spec.publics) {
    for (const Declaration& declaration : function.typed) declarations.push_back(&declaration);
    for (const Declaration& declaration : function.signatures) declarations.push_back(&declaration);
  }
  for (const TypeRule& rule : spec.type_rules) {
    bool named = false;
    bool used = false;
    for (const Declaration* declaration : declarations) {
      named = named || names(rule, *declaration);
      used = used || rule_of(spec, *declaration) == &rule;
      const auto changed = used ? std::nullopt : with_number_first(spec, *declaration);
      used = used || (changed && rule_of(spec, *changed) == &rule);
    }
    if (!named || used || rule.newer) continue;
    throw Error("types.yaml", rule.line, "the rule of '" + *rule.ops.begin() + "' is unused",
                "an overload with these binds and this number of results that earlier rules do not cover");
  }
  for (const StringRule& rule : spec.string_rules) {
    const bool used = std::any_of(declarations.begin(), declarations.end(), [&](const Declaration* declaration) {
      return std::any_of(declaration->arguments.begin(), declaration->arguments.end(), [&](const Argument& argument) {
        return string_rule_of(spec, *declaration, argument) == &rule;
      });
    });
    if (used) continue;
    throw Error("types.yaml", rule.line, "the string '" + rule.argument + "' is unused",
                "an argument of one of the ops");
  }
}

}  // namespace codegen
