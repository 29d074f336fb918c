// ATen/RegistrationDeclarations.h: one line per operator, the C++ signature and, as JSON in a comment, the schema.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace codegen {

struct Registration {
  std::string schema;     // "aten::add.Tensor(…) -> Tensor"
  bool dispatch = false;  // some backend has its own kernel
  int line = 0;
};

// Reads the header in file order. Throws Error for a line that is not a registration, or if there is none at all.
std::vector<Registration> read_registrations(const std::filesystem::path& header);

}  // namespace codegen
