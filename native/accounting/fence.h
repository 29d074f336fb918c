// Tensor memory between pages that cannot be touched, for `npm run fuzz -- --fence`: a kernel that reads or writes
// outside of a tensor, or after its end, ends the process in the very call instead of damaging the memory of others.
// The idea is Electric Fence's (Bruce Perens); here only for tensors, since a process may have 65,530 mappings.
//
// Compiled only with LTN_FENCE. Ordinary builds have nothing of it.
#pragma once

#include <cstddef>

namespace ltn::accounting {

#ifdef LTN_FENCE
constexpr bool kFenced = true;
#else
constexpr bool kFenced = false;
#endif

// Memory whose last byte is the last of a page, or, with LTN_FENCE_AT=start in the environment, whose first byte is the
// first of one. Null if the system has none. Any thread.
void* take_fenced(size_t bytes) noexcept;
// Frees it; its addresses stay unusable until 4,096 more blocks were freed. Returns its size. Any thread.
size_t free_fenced(void* data) noexcept;

}  // namespace ltn::accounting
