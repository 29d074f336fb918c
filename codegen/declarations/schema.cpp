// The only file of the generator that uses libtorch itself.
#include "codegen/declarations/schema.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <stdexcept>

#include "codegen/common/schema_text.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

Base base_of(const std::string& word) {
  if (word == "SymInt") return Base::Int;
  for (const TypeRow& row : type_table()) {
    if (word == row.schema_name) return row.base;
  }
  throw std::invalid_argument("unknown schema type '" + word + "' (a new type needs a row in type_table.cpp)");
}

// The parser gives the type's structure; only the name of the base type comes from the text.
Type type_of(const c10::Argument& argument, const std::string& word) {
  Type type;
  type.base = base_of(word);
  c10::TypePtr current = argument.real_type();
  if (const auto optional = current->cast<c10::OptionalType>()) {
    type.nullable = true;
    current = optional->getElementType();
  }
  if (const auto list = current->cast<c10::ListType>()) {
    type.list = true;
    type.size = argument.N() ? static_cast<int>(*argument.N()) : 0;
    current = list->getElementType();
    if (current->cast<c10::OptionalType>()) type.element_nullable = true;
  }
  return type;
}

// Both parses of a schema must agree, or a default or annotation would be assigned to the wrong argument.
void check_same(const std::vector<TextField>& text, const std::vector<c10::Argument>& parsed, const char* what) {
  bool same = text.size() == parsed.size();
  for (std::size_t i = 0; same && i < text.size(); ++i) same = text[i].name == parsed[i].name();
  if (!same) throw std::invalid_argument(std::string("libtorch's parser and the text disagree about the ") + what);
}

bool is_mutated(const TextField& field) { return field.annotation.find('!') != std::string::npos; }

}  // namespace

Schema parse_schema(const std::string& text) {
  const c10::FunctionSchema parsed = torch::jit::parseSchema(text);
  const SchemaText fields = cut_schema(text);
  check_same(fields.arguments, parsed.arguments(), "arguments");
  check_same(fields.returns, parsed.returns(), "returns");

  const auto handle = c10::Dispatcher::singleton().findSchema({parsed.name(), parsed.overload_name()});
  if (!handle) {
    throw std::invalid_argument(
        "the linked libtorch does not register it (headers and library must have the same version)");
  }

  Schema schema;
  schema.text = text;
  schema.name = parsed.name().substr(parsed.name().find("::") + 2);
  schema.overload = parsed.overload_name();
  schema.generated = handle->hasTag(at::Tag::generated);
  schema.has_math_kernel = handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  schema.has_cpu_kernel = handle->hasKernelForDispatchKey(c10::DispatchKey::CPU);
  for (std::size_t i = 0; i < fields.arguments.size(); ++i) {
    const TextField& field = fields.arguments[i];
    SchemaArgument argument;
    argument.name = field.name;
    argument.type = type_of(parsed.arguments()[i], field.word);
    argument.annotation = field.annotation;
    argument.mutated = is_mutated(field);
    // torchgen's definition of an out argument.
    argument.out = parsed.arguments()[i].kwarg_only() && argument.mutated;
    argument.kwarg_only = parsed.arguments()[i].kwarg_only() && !argument.out;
    argument.default_text = field.default_text;
    schema.arguments.push_back(argument);
  }
  for (std::size_t i = 0; i < fields.returns.size(); ++i) {
    const TextField& field = fields.returns[i];
    schema.returns.push_back({field.name, type_of(parsed.returns()[i], field.word), field.annotation, is_mutated(field),
                              field.word == "SymInt"});
  }
  return schema;
}

}  // namespace codegen
