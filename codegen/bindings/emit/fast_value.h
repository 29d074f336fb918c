// One value of a call in the straight-line code of a wrapper: its test, its conversion, its default; and the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/bindings/plan/plan.h"

namespace codegen {

struct Test {
  std::string condition;
  std::string value;
  // For a list: the expression that reads it, undefined if it does not fit. Reading can run user code, so it comes
  // after all other tests and after all handles are read.
  std::string read = {};
};

// Whether the parser could accept for `b` a value that passed the test of `a`.
bool may_overlap(const Type& a, const Type& b);

// The test of the value in the variable `name`, a letter and a number; nothing for a type that only the parser tests.
std::optional<Test> test_of(const Type& type, const std::string& name, bool not_empty);

// For a number passed instead of a tensor.
Test number_test(const std::string& name);

// For a dtype by one of its names.
Test dtype_test(const std::string& name);

// The default as native code takes it; nothing if it is only known at run time.
std::optional<std::string> default_text(const Argument& argument);

// The statement that returns the result of `call`. `names`: the variables of the arguments.
std::string result_text(const PlannedOp& op, const std::string& call, const std::vector<std::string>& names);

}  // namespace codegen
