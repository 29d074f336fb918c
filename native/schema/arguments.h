// Parses argument types and names from a schema string. Only error messages need them, so they are not stored.
#pragma once

#include <string>
#include <vector>

namespace ltn {

struct SchemaArgument {
  std::string type;  // "Tensor(a!)", "int[2]?"
  std::string name;

  bool is_tensor() const { return type.rfind("Tensor", 0) == 0 && type.find("[]") == std::string::npos; }
  bool is_tensor_list() const { return type.rfind("Tensor", 0) == 0 && type.find("[]") != std::string::npos; }
};

// In schema order: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" has three.
std::vector<SchemaArgument> schema_arguments(const char* schema);

}  // namespace ltn
