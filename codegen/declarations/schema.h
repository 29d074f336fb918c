// One operator's schema, parsed by libtorch's own parser.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/model/schema.h"

namespace codegen {

struct SchemaArgument {
  std::string name;
  Type type;
  std::string annotation;  // "a!", or ""
  bool mutated = false;
  bool kwarg_only = false;  // false for out arguments, as in torchgen
  bool out = false;
  std::optional<std::string> default_text;  // as the schema writes it
};

struct SchemaReturn {
  std::string name;
  Type type;
  std::string annotation;
  bool mutated = false;
  bool symbolic = false;  // a SymInt: an int to the schema's type, c10::SymInt to C++
};

struct Schema {
  std::string text;
  std::string name;  // "add_"
  std::string overload;
  std::vector<SchemaArgument> arguments;  // out arguments last
  std::vector<SchemaReturn> returns;
  bool generated = false;        // torchgen generated this variant: it is not in native_functions.yaml
  bool has_math_kernel = false;  // the library has a CompositeImplicitAutograd kernel for it
  bool has_cpu_kernel = false;   // … and its own one for the CPU

  bool is_out() const { return !arguments.empty() && arguments.back().out; }
  // `add_`, and the dunder forms `__iadd__`.
  bool is_inplace() const;
};

// Parses `aten::…`. Throws std::exception with the parser's message, or if the library does not register the operator.
Schema parse_schema(const std::string& text);

}  // namespace codegen
