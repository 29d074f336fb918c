// Backward ops that libtorch's engine calls by itself, and whose kernels rely on guards.
#pragma once

namespace ltn {

// Checks their arguments in the dispatcher, for the whole process; called once.
void guard_backwards();

}  // namespace ltn
