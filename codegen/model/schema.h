// The immutable model of one libtorch's operators: the validated contents of Declarations.yaml, in schema order.
// It is independent of C++ emission, JavaScript and TypeScript. (Idea: torchgen/model.py.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/model/fit.h"

namespace codegen {

// A schema type: `Tensor`, `Tensor?`, `Tensor[]`, `Tensor?[]`, `int[2]`, `int[2]?`, `bool[3]`, …
struct Type {
  Base base = Base::Tensor;
  bool nullable = false;          // `T?` or `T[]?`: null is allowed for the whole argument
  bool list = false;              // `T[]` or `T[N]`
  bool element_nullable = false;  // `Tensor?[]`
  int size = 0;                   // N of `T[N]`, else 0. For int[N] a single number is accepted and repeated.
};

// A default as a typed literal instead of C++ text.
struct Default {
  enum class Kind { None, Bool, Int, Float, Str, IntList, Dtype, MemoryFormat } kind = Kind::None;
  bool boolean = false;
  long long integer = 0;  // Kind::Int (also reductions: none 0, mean 1, sum 2)
  std::string
      text;  // Kind::Float: shortest exact decimal; Kind::Str: unescaped; Dtype: 'int64'; MemoryFormat: 'contiguous'
  std::vector<long long> integers;  // Kind::IntList
};

struct Argument {
  std::string name;  // schema name, snake_case
  Type type;
  std::optional<Default> default_value;  // absent: required
  bool kwarg_only = false;
  std::string alias;      // "" or "a", "a!", "a! -> *", as in the schema
  bool mutated = false;   // the alias has a '!'
  bool out = false;       // an argument of an out-variant that receives the result
  bool variadic = false;  // only in public functions: a list that may be passed as rest arguments
};

struct Return {
  Type type;
  std::string name;   // the schema's field name, or ""
  std::string alias;  // as in Argument; "a!": the return is the argument with the same alias
};

struct Declaration {
  std::string name;                 // ATen operator name: "add_"
  std::string overload;             // "Tensor", or ""
  std::string schema;               // "aten::add_.Tensor(Tensor(a!) self, …) -> Tensor(a!)"
  std::vector<Argument> arguments;  // schema order, with dtype/layout/device/pin_memory separate
  std::vector<Return> returns;
  bool is_method = false;     // method_of has Tensor
  bool is_function = false;   // method_of has namespace
  std::string python_module;  // "", "nn", "linalg", "fft", "special", "sparse", "nested"
  std::string ops_header;     // "add_ops.h", the header below ATen/ops that declares at::_ops::<cpp_struct()>
  int line = 0;               // in Declarations.yaml, for messages

  // The name of the struct in at::_ops: "add__Tensor".
  std::string cpp_struct() const { return overload.empty() ? name : name + "_" + overload; }
  // "add_.Tensor", or "add_" when the overload is empty.
  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
};

struct Model {
  std::string libtorch_version;           // "1.13.1"
  std::vector<Declaration> declarations;  // in the file's order
};

}  // namespace codegen
