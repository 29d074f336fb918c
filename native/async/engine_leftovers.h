// Cleanup of libtorch's autograd engine after a failed backward.
#pragma once

namespace ltn {

// Frees the unfinished tasks of the engine and the gradients they hold, which it leaves in the thread's queue until the
// thread's next backward. So this runs one, on a tensor without elements. Thread: the one that ran the backward.
void free_engine_leftovers() noexcept;

}  // namespace ltn
