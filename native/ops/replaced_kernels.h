// Kernels of libtorch that other ops and models call inside, where no guard sees their arguments, and that do not
// check them: replaced in the dispatcher by kernels that do.
#pragma once

namespace ltn {

// Replaces them for the whole process; called once.
void replace_kernels();

}  // namespace ltn
