// A schema's text split into its arguments and returns. Libtorch's parser decides what a schema means; the text keeps
// what the parser drops: `Mean` (an int to it), `Dimname` (a str), `1e-05` (a double), `(a -> *)`.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace codegen {

// One argument or return as written: `Tensor(a!)[] self`, `int[2] stride=1`.
struct TextField {
  std::string word;                         // the base type's name: "Tensor", "SymInt", "Dimname"
  std::string annotation;                   // "a!", or ""
  std::string name;                         // "" for a return without a name
  std::optional<std::string> default_text;  // "None", "Mean", "[0,1]", "'a'"
};

struct SchemaText {
  std::vector<TextField> arguments;
  std::vector<TextField> returns;
};

// Splits `aten::add.Tensor(Tensor self, …) -> Tensor`. Throws std::invalid_argument for any other form.
SchemaText cut_schema(const std::string& schema);

}  // namespace codegen
