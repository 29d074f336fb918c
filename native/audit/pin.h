// Keeps this library loaded for the life of the process.
#pragma once

namespace ltn::audit {

// Node unloads an addon when the last worker that loaded it ends. Call before libtorch or a thread gets a pointer into
// this library that outlives the worker. Any thread; further calls do nothing.
void pin_library() noexcept;

}  // namespace ltn::audit
