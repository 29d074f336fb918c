// The members of TypeScript's interfaces: every signature of the functions of one namespace.
#pragma once

#include <string>
#include <vector>

#include "codegen/bindings/dts_text.h"
#include "codegen/bindings/plan.h"

namespace codegen {

// Whether a call returns its result or, like those of torch.async, a promise of it.
enum class Calls { Now, Later };

// The same call of torch.async: tensors may be promises of tensors, it has an option `signal`, and it returns a
// promise.
CallShape later(CallShape shape);

// A namespace's members: ops with the signatures that hand-written functions add, then purely hand-written functions.
std::string members_text(const Plan& plan, const std::vector<Group>& groups, const std::string& space, Calls calls);

}  // namespace codegen
