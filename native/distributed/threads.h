// Threads for calls that block.
#pragma once

#include <functional>

namespace ltn::distributed {

// Runs `work` on a thread that has nothing to do, or on a new one; `work` must not throw. The number of threads is the
// number of calls that block at the same time. Any thread.
void run_blocking(std::function<void()> work);

}  // namespace ltn::distributed
