// The members of TypeScript's interfaces: every signature of the functions of one namespace.
#pragma once

#include <string>
#include <vector>

#include "codegen/bindings/dts/text.h"
#include "codegen/bindings/plan/plan.h"

namespace codegen {

// The call of a function in terms of the parameters of its interface, which torch and torch.async share
// (types/calls.d.ts): in torch.async tensors may be promises of tensors, there is an option `signal`, and the result is
// a promise.
CallShape shared(CallShape shape);

// A namespace's members: ops with the signatures that hand-written functions add, then purely hand-written functions.
// Those of "Tensor" are methods; all others are shared with torch.async.
std::string members_text(const Plan& plan, const std::vector<Group>& groups, const std::string& space);

}  // namespace codegen
