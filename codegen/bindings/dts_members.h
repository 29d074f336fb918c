// The members of TypeScript's interfaces: every signature of the functions of one namespace.
#pragma once

#include <string>
#include <vector>

#include "codegen/bindings/dts_text.h"
#include "codegen/bindings/plan.h"

namespace codegen {

// Whether a call gives its result, or, as those of torch.async, a promise of it.
enum class Calls { Now, Later };

// The same call of torch.async: tensors may be promises of tensors, there is an option `signal`, and a promise is
// given.
CallShape later(CallShape shape);

// A namespace's members: those of ops with what hand-written functions add to them, then the hand-written ones alone.
std::string members_text(const Plan& plan, const std::vector<Group>& groups, const std::string& space, Calls calls);

}  // namespace codegen
