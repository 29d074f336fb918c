// The hand-written part of the generator's input: codegen/spec/*.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/model/schema.h"

namespace codegen {

// exceptions.yaml: an op that is not generated, and the reason.
struct Skipped {
  std::string reason;
  int line = 0;
};

// guards/*.yaml: a condition on the arguments of ops whose kernels do not check it.
struct Guard {
  std::string argument;  // the one that the message names
  std::string demand;    // C++, over the arguments' names; "" if the op is only in `apart`
  std::string expected;  // what TORCH_CHECK prints: C++, separated by commas
  std::string got;
  std::string reason;
  bool apart = false;          // no result may be one of the tensors that the op reads
  bool some_releases = false;  // the op may not be declared
  // Arguments that another release names otherwise: that name -> the one that the conditions use.
  std::map<std::string, std::string> renamed;
  std::string file;
  int line = 0;
};

// classes/*.yaml: a C++ class. Its functions are not ops but hand-written C++ (with libtorch's types), bound by the
// same invoker as the ops. (Idea: hasktorch's spec/cppclass.)
struct ClassFunction {
  Declaration declaration;  // name is "Generator.manual_seed"
  std::string cpp;          // "ltn::generator_manual_seed"
  std::string doc;
  bool is_static = false;  // no `self`: the constructor or a static function
  bool chains = false;     // returns the object itself
  bool property = false;   // read without a call
};
struct ClassSpec {
  std::string name;    // "Generator"
  std::string header;  // "native/classes/generator.h"
  std::string doc;
  std::vector<ClassFunction> functions;
};

// public.yaml: a function that PyTorch implements in Python on top of ops, and this package in TypeScript.
struct PublicFunction {
  std::string name;                 // "cross_entropy"
  std::string js_name;              // "crossEntropy"
  std::vector<std::string> spaces;  // "" for torch, "nn.functional", "Tensor" for a method
  std::string file;                 // its source file
  std::string reason;
  bool extends = false;  // calls that fit the op of the same name go to the op
  std::string needs;     // an op; the function only exists if libtorch has it
  std::vector<Declaration> signatures;
  std::vector<Declaration> typed;         // more precise forms, only for the declarations
  std::map<std::string, std::string> ts;  // argument, or "result" -> its TypeScript type
  int line = 0;
};

// A namespace with the contents of PyTorch's: these ops, under their own names or aliases, and the public functions.
struct Namespace {
  bool open = false;  // shows all ops of its module
  std::set<std::string> ops;
  std::map<std::string, std::string> aliases;  // PyTorch's name -> the op's
};

// types.yaml: the TypeScript types of the results of a family of ops. type_rules.h applies it.
struct TypeRule {
  struct Bind {
    std::string argument;  // in the schema
    Base base = Base::Tensor;
    bool list = false;
  };
  std::set<std::string> ops;  // ATen names
  std::vector<Bind> binds;
  bool reshapes = false;                      // the op in place gives its tensor the shape of the result
  bool newer = false;                         // for overloads that not every libtorch has, so the rule may be unused
  std::set<std::string> ignores;              // dimensions that do not matter to the result
  std::vector<std::string> results;           // TypeScript types, with $name for the type of an argument
  std::map<std::string, std::string> checks;  // by argument
  int line = 0;
};

// types.yaml: the values of a string argument.
struct StringRule {
  std::set<std::string> ops;  // names in ATen or of public functions; every op that has the argument, if empty
  std::string argument;
  std::string type;  // a union of literals
  int line = 0;
};

struct Spec {
  std::map<std::string, Skipped> skipped;        // by full_name
  std::map<std::string, Guard> guards;           // by full_name
  std::vector<std::string> reserved_members;     // names of Tensor's hand-written members, reserved for them
  std::map<std::string, std::string> no_method;  // JS name -> reason: ops that are functions only
  std::map<std::string, std::string> own_types;  // JS name -> reason: methods whose TypeScript is written by hand
  std::set<std::string> not_chosen;              // full names of overloads that calls by name never choose
  std::set<std::string> number_tensors;          // ATen names of ops that accept a number for any of their tensors
  std::vector<ClassSpec> classes;
  std::map<std::string, Namespace> closed;  // by space
  std::vector<PublicFunction> publics;
  std::vector<TypeRule> type_rules;
  std::vector<StringRule> string_rules;
};

// Reads the folder. Throws Error with file, line and expectation.
Spec load_spec(const std::filesystem::path& folder);

}  // namespace codegen
