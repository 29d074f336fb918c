// The hand-written part of the generator's input: codegen/spec/*.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "codegen/bindings/schema.h"

namespace codegen {

// exceptions.yaml: an op that is not simply generated, and why.
struct Exception {
  enum class Status { Manual, Skipped } status = Status::Skipped;
  std::string reason;
  int line = 0;
};

// classes/*.yaml: a C++ class that is no op. Its functions are hand-written C++ (with libtorch's types) and bound by
// the same invoker as the ops. (Idea: hasktorch's spec/cppclass.)
struct ClassFunction {
  Declaration declaration;  // name is "Generator.manual_seed"
  std::string cpp;          // "ltn::generator_manual_seed"
  std::string doc;
  bool is_static = false;  // no `self`: the constructor or a static function
};
struct ClassSpec {
  std::string name;    // "Generator"
  std::string header;  // "native/classes/generator.h"
  std::string doc;
  std::vector<ClassFunction> functions;
};

struct Spec {
  std::map<std::string, Exception> exceptions;   // by full_name
  std::vector<std::string> reserved_members;     // names of Tensor's hand-written members, which no op may take
  std::map<std::string, std::string> no_method;  // JS name -> reason: ops that are functions only
  std::vector<ClassSpec> classes;
};

// Reads the folder. Throws Error with file, line and what was expected.
Spec load_spec(const std::filesystem::path& folder);

// Parses "manual_seed(Generator self, int seed) -> ()". Throws std::invalid_argument saying what was expected.
Declaration parse_function(const std::string& text);

}  // namespace codegen
