// The hand-written part of the generator's input: codegen/spec/*.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <set>
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
  bool chains = false;     // gives the object itself
  bool property = false;   // read without a call
};
struct ClassSpec {
  std::string name;    // "Generator"
  std::string header;  // "native/classes/generator.h"
  std::string doc;
  std::vector<ClassFunction> functions;
};

// public.yaml: a function that PyTorch has in Python over the ops, written in TypeScript.
struct PublicFunction {
  std::string name;                 // "cross_entropy"
  std::string js_name;              // "crossEntropy"
  std::vector<std::string> spaces;  // "" for torch, "nn.functional", "Tensor" for a method
  std::string file;                 // where it is written
  std::string reason;
  bool extends = false;  // the op of the same name takes the calls that fit it
  std::string needs;     // an op: with a libtorch that lacks it, the function is not there either
  std::vector<Declaration> signatures;
  std::vector<Declaration> typed;         // more precise forms, for the declarations alone
  std::map<std::string, std::string> ts;  // argument, or "result" -> its TypeScript type
  int line = 0;
};

// A namespace that holds what PyTorch's holds: these ops, under their own names or others, and the public functions.
struct Namespace {
  bool open = false;  // shows all ops of its module
  std::set<std::string> ops;
  std::map<std::string, std::string> aliases;  // PyTorch's name -> the op's
};

// types.yaml: what TypeScript knows of the results of a family of ops. type_rules.h applies it.
struct TypeRule {
  struct Bind {
    std::string argument;  // in the schema
    Base base = Base::Tensor;
    bool list = false;
  };
  std::set<std::string> ops;  // ATen names
  std::vector<Bind> binds;
  bool newer = false;                         // for overloads that not every libtorch has: it may go unused
  std::set<std::string> ignores;              // dimensions that do not matter to the result
  std::vector<std::string> results;           // TypeScript types, with $name for the type of an argument
  std::map<std::string, std::string> checks;  // by argument
  int line = 0;
};

struct Spec {
  std::map<std::string, Exception> exceptions;   // by full_name
  std::vector<std::string> reserved_members;     // names of Tensor's hand-written members, which no op may take
  std::map<std::string, std::string> no_method;  // JS name -> reason: ops that are functions only
  std::map<std::string, std::string> own_types;  // JS name -> reason: methods whose TypeScript is written by hand
  std::set<std::string> not_chosen;              // full names of overloads that no call by name chooses
  std::set<std::string> number_tensors;          // ATen names: a number stands for any of their tensors
  std::vector<ClassSpec> classes;
  std::map<std::string, Namespace> closed;  // by space
  std::vector<PublicFunction> publics;
  std::vector<TypeRule> type_rules;
};

// Reads the folder. Throws Error with file, line and what was expected.
Spec load_spec(const std::filesystem::path& folder);

}  // namespace codegen
