// A scavenge that does not visit the objects of V8's startup snapshot.
//
// An isolate has two lists of them, 11,000 to 13,000 objects, for contexts that are made later (1,600 in Debian's Node
// 20.19, which is built without a snapshot of its own). V8 visits each of these roots in every scavenge, which is half
// of the time that one takes in a small heap or more (bench/PROFILES.md), and costs more once large tensors have pushed
// the lists out of the processor's caches. All are old objects, which a scavenge neither moves nor frees. V8's loop
// ends at the first `undefined`, so the first element is `undefined` during the scavenge, and itself again before the
// program runs.
//
// A full collection in that time would free the objects. V8 runs none inside a scavenge, but a callback of another
// addon might. V8 calls prologue callbacks in the order of their registration, so ours is registered anew just before,
// as the last one. An epilogue callback that was registered before ours must not run a full collection.
#pragma once

#include <node_api.h>

#include <cstddef>
#include <cstdint>

namespace ltn {

// The next collection of this thread's isolate, which the caller requests at once, is short if it is a scavenge. The
// lists are private to V8, so they are searched for by what is certain about them; if that does not hold, as in another
// runtime or another V8, nothing is changed. `undefined`: a Node-API value. Thread: the isolate's; not inside a
// collection. Returns how many objects such a scavenge does not visit; 0: V8's lists were not found.
size_t shorten_scavenge(napi_value undefined) noexcept;

// The number of short scavenges of this thread so far.
uint64_t short_scavenges() noexcept;

}  // namespace ltn
