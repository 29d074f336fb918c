// The Python module of an operator; see spec/python_modules.yaml for the rules and the exceptions.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

namespace codegen {

class PythonModules {
 public:
  // Reads spec/python_modules.yaml. Throws Error when it is malformed or lists a name twice.
  explicit PythonModules(const std::filesystem::path& spec);

  // "nn", "linalg", …, "" for an operator of torch itself. `generated`: torchgen generated the variant.
  std::string of(const std::string& name, bool generated) const;

 private:
  std::vector<std::string> prefixes_;
  std::unordered_map<std::string, std::string> exceptions_;
};

}  // namespace codegen
