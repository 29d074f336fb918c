// Memory that V8 must not reallocate while a tensor uses it.
//
// In Node 20 to 23 `buffer.transfer(n)` reallocates the BackingStore itself, whoever else holds it, by one function of
// the isolate's allocator. That function is replaced by one that leaves such memory where it is and copies it. (A
// detach key would refuse the call, but these Nodes abort where a detach is refused.) Later ones always copy.
#pragma once

namespace ltn::share {

// Whether V8 can reallocate here, and is kept from it at this address until as many calls of let_go(). The
// environment's JS thread only. Throws std::bad_alloc.
bool keep_in_place(const void* begin);

// Any thread. Frees what V8 gave up meanwhile.
void let_go(const void* begin) noexcept;

}  // namespace ltn::share
