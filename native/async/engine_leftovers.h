// What libtorch's autograd engine keeps when a backward fails half way.
#pragma once

namespace ltn {

// Frees the tasks that the engine had not come to, and the gradients they hold: it leaves them in the thread's queue
// until the thread's next backward. So this is one, of a tensor without elements. Thread: the one that ran the
// backward.
void free_engine_leftovers() noexcept;

}  // namespace ltn
