// The rules of types.yaml, applied to one overload: which arguments become type parameters, and what its result is.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "codegen/bindings/schema.h"
#include "codegen/bindings/spec.h"

namespace codegen {

// Reads types.yaml. Throws Error with file, line and what was expected.
std::vector<TypeRule> load_type_rules(const std::filesystem::path& path);

// Whether an argument chooses dimensions by index.
bool is_dimension(const Argument& argument);

// "TOther", the type parameter of the argument `other`.
std::string type_parameter_name(const Argument& argument);

// The rule that an overload follows, nullptr without one.
const TypeRule* rule_of(const Spec& spec, const Declaration& declaration);

// An expression of a rule with `$name` replaced by type parameters. `replaced` gives other texts for some of them.
std::string instantiate(const std::string& expression, const Declaration& declaration,
                        const std::map<std::string, std::string>& replaced = {});

// The types of the algebra that a generated file uses, for its import.
std::vector<std::string> algebra_names(const Spec& spec);

// Throws Error when a rule's op is there but no overload has the arguments that the rule speaks of.
void check_rules(const Spec& spec, const Model& model);

}  // namespace codegen
