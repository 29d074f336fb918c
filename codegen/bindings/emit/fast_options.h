// The calls with an options object that a wrapper takes in straight-line code: those with few options of plain types.
#pragma once

#include <map>
#include <string>

#include "codegen/bindings/plan/plan.h"

namespace codegen {

constexpr size_t kMaxOptions = 2;  // names in one object

// The lines of a group by `arguments.length`. A line reads the values as lib/tensor/reading.ts does, each once and in
// the caller's order, and then either returns what lib/call/parse.ts would return, or leaves the read values in `r`, as
// arguments for the parser. Before that only traps of a Proxy have run.
std::map<size_t, std::string> option_lines(const Plan& plan, const Group& group, bool method);

}  // namespace codegen
