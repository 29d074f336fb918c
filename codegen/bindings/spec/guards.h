// Guards: functions that check an op's arguments before its kernel reads them (codegen/spec/guards).
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "codegen/bindings/spec/spec.h"
#include "codegen/model/schema.h"

namespace codegen {

// Reads the files of a folder: a Guard by the op's full name. Throws Error with file, line and expectation.
std::map<std::string, Guard> load_guards(const std::filesystem::path& folder);

// Throws Error for a guard whose op is not declared, or does not take the argument that its message names.
void check_guards(const Spec& spec, const Model& model);

// The name of the op's guard in C++.
std::string guard_name(const Declaration& declaration);

// The struct that checks the op's arguments; Guarded (native/ops/guarded.h) calls it.
std::string guard_struct(const Declaration& declaration, const Guard& guard);

}  // namespace codegen
