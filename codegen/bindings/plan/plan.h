// The emitters' plan for each declaration: op numbers, JS names, and the order in which overloads are tried.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/bindings/plan/history.h"
#include "codegen/bindings/spec/spec.h"
#include "codegen/model/schema.h"

namespace codegen {

struct PlannedOp {
  const Declaration* declaration = nullptr;
  bool skipped = false;         // by exceptions.yaml
  int number = -1;              // row in the op table; -1: skipped
  std::string reason;           // why it is skipped, or where the function is that replaces it
  int self = -1;                // index of the argument `Tensor self`, or -1
  std::string js_name;          // "logSoftmax"
  std::string space;            // the function's namespace: "", "linalg", "nn.functional", or a hidden one
  std::string space_name;       // its name there
  bool number_tensors = false;  // a number is accepted for any tensor that the op does not write to
  bool shadowed = false;        // another overload takes every call that fits, so wrappers omit it
};

// All overloads behind one JS name, in the order in which they are tried.
struct Group {
  std::string js_name;
  std::vector<int> ops;  // indices into Plan::ops
};

struct PlannedClass {
  const ClassSpec* spec = nullptr;
  std::vector<int> numbers;  // the op-table row of each function
};

struct Plan {
  const Model* model = nullptr;
  const Spec* spec = nullptr;
  const History* history = nullptr;                     // nullptr if other releases are unknown
  std::vector<PlannedOp> ops;                           // one per declaration, same order
  std::map<std::string, std::vector<Group>> functions;  // by namespace, sorted by name
  std::vector<Group> methods;
  std::vector<PlannedClass> classes;
  int row_count = 0;  // rows of the op table: ops first, then class functions
  // Hand-written functions by namespace ("Tensor" for methods) and JS name.
  std::map<std::string, std::map<std::string, const PublicFunction*>> publics;

  const PublicFunction* public_function(const std::string& space, const std::string& js_name) const;
};

// The namespace of ops that PyTorch's namespace does not show, or that a public function replaces; only lib/ uses it.
inline std::string hidden_space(const std::string& space) { return "_" + space; }
inline bool is_hidden(const std::string& space) { return !space.empty() && space[0] == '_'; }

// Throws Error for colliding names and for an exception whose op does not exist.
Plan make_plan(const Model& model, const Spec& spec);

// PyTorch's order of overloads (sort_overloads of its gen_python_functions.py): more specific signatures first.
std::vector<int> sort_overloads(const Plan& plan, std::vector<int> ops);

// Whether `tensor` equals `scalar` except that it has a tensor in place of the number.
bool is_scalar_twin(const Declaration& scalar, const Declaration& tensor);

}  // namespace codegen
