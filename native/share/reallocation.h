// Memory that V8 must not reallocate while a tensor uses it.
//
// In Node 20 to 23 `buffer.transfer(n)` reallocates the BackingStore itself, even if others hold it, through one
// function of the isolate's allocator. That function is replaced by one that leaves such memory in place and copies it.
// (A detach key would refuse the call, but these Nodes abort on a refused detach.) Later versions always copy.
#pragma once

namespace ltn::share {

// Prevents V8 from reallocating this address until the same number of calls of unpin(). False if V8 cannot
// reallocate anyway. The environment's JS thread only. Throws std::bad_alloc.
bool pin_in_place(const void* begin);

// Any thread. Frees the memory if V8 released it in the meantime.
void unpin(const void* begin) noexcept;

}  // namespace ltn::share
