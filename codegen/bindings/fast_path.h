// The straight-line part of a wrapper: the common positional calls, as code that the JIT inlines.
#pragma once

#include <string>
#include <vector>

#include "codegen/bindings/plan.h"

namespace codegen {

// The cases of `switch (arguments.length)` for a group, indented by four, or "" when none is simple enough. Parameters
// are a0, a1, …; for a method `this` stands for self. A case answers exactly what lib/parse.ts would answer, or breaks.
struct FastPath {
  std::string cases;
  std::string locals;     // the declaration of what they assign to, or ""
  size_t parameters = 0;  // the most that a case uses
};
FastPath fast_path(const Plan& plan, const Group& group, bool method);

}  // namespace codegen
