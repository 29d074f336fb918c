// Scavenges that do not visit the objects of V8's startup snapshot.
//
// An isolate has two lists of them, 11,000 to 13,000 objects, for contexts that are made later. V8 visits each of these
// roots in every scavenge, which is two thirds of the time that one takes in a small heap (70 of 100 µs with Node 26),
// and more once large tensors have pushed the lists out of the processor's caches. All are old objects, which a
// scavenge neither moves nor frees. V8's loop ends at the first `undefined`, so the first element is `undefined` during
// each scavenge, and itself again before anything else runs (bench/PROFILES.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ltn {

struct ShortScavenges {
  size_t objects = 0;      // that scavenges of this thread's isolate do not visit; 0: V8's lists were not found
  uint64_t scavenges = 0;  // so far
};

// From now on, for the isolate of this thread. The lists are private to V8, so they are searched for by what is certain
// about them; if that does not hold, as in another runtime or another V8, nothing is changed.
// `undefined`: V8's tagged pointer to it. Thread: the isolate's; not inside a collection.
ShortScavenges shorten_scavenges(uintptr_t undefined) noexcept;

}  // namespace ltn
