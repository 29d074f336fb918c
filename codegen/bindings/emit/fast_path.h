// The fast path of a wrapper: the common calls, as code that the JIT inlines.
#pragma once

#include <string>
#include <vector>

#include "codegen/bindings/plan/plan.h"

namespace codegen {

// The cases of `switch (arguments.length)` for a group, indented by four, or "" if none is simple enough. Parameters
// are a0, a1, …; for a method `this` is self. A case returns exactly what lib/call/parse.ts would return, or breaks.
struct FastPath {
  std::string cases;
  std::string locals;     // the declaration of the locals that the cases assign to, or ""
  size_t parameters = 0;  // the maximum over the cases
  bool reads = false;     // whether `r` may hold the arguments, as they were read
};
// `options`: also the cases of fast_options.h, and integers one by one in place of a list.
FastPath fast_path(const Plan& plan, const Group& group, bool method, bool options);

}  // namespace codegen
