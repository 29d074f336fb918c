// The emitters: Plan -> text of one target. Pure functions; main.cpp writes what they return.
#pragma once

#include <map>
#include <string>

#include "codegen/bindings/plan/plan.h"

namespace codegen {

// Paths below the output root, with their text.
using Files = std::map<std::string, std::string>;

// native/generated/: the op table in shards, so that a changed signature recompiles one shard.
Files emit_cpp(const Plan& plan);

// lib/generated/: signature tables, wrappers for functions, methods and classes, and the names of the module's exports.
Files emit_js(const Plan& plan);

// lib/generated/codes.d.ts: names of the letters and numbers that native code, codegen and lib/ share.
Files emit_codes();

// types/generated/: declarations of every function, method and class.
Files emit_dts(const Plan& plan);

// "1.13" of "1.13.0": operators change only between minor versions, and patch numbers in headers are not reliable.
std::string release_of(const std::string& version);

// The ledger: every declaration with its status. Throws Error if a declaration is not counted.
std::string emit_ledger(const Plan& plan);

}  // namespace codegen
