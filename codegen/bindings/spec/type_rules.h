// Applies the rules of types.yaml to an overload: which arguments become type parameters, and the type of its result.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "codegen/bindings/spec/spec.h"
#include "codegen/model/schema.h"

namespace codegen {

// Reads types.yaml. Throws Error with file, line and expectation.
std::vector<TypeRule> load_type_rules(const std::filesystem::path& path);

// Reads the strings of types.yaml, as above.
std::vector<StringRule> load_string_rules(const std::filesystem::path& path);

// Whether an argument chooses dimensions by index.
bool is_dimension(const Argument& argument);

// "TOther", the type parameter of the argument `other`.
std::string type_parameter_name(const Argument& argument);

// The rule that an overload follows, or nullptr.
const TypeRule* rule_of(const Spec& spec, const Declaration& declaration);

// The overload with a number as its first tensor (`torch.sub(1, x)`), if a rule says what it gives.
std::optional<Declaration> with_number_first(const Spec& spec, const Declaration& declaration);

// The values of a string argument, or nullptr where they are not known: the first rule that names them.
const StringRule* string_rule_of(const Spec& spec, const Declaration& declaration, const Argument& argument);

// An expression of a rule with each `$name` replaced by its type parameter.
std::string instantiate(const std::string& expression, const Declaration& declaration);

// The types of the algebra that a generated file uses, for its import.
std::vector<std::string> algebra_names(const Spec& spec);

// Throws Error if a rule's op exists but none of its overloads follows the rule, or no op has the argument of a string.
void check_rules(const Spec& spec, const Model& model);

}  // namespace codegen
