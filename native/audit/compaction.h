// A capture that must not grow: written anew with the totals whole, the detail of what is gone left out, and its rounds
// thinned out.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_COMPACTION_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_COMPACTION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "native/audit/capture_file.h"

namespace ltn::audit {

struct Compacted {
  uint64_t dropped_births = 0;  // living ones, the oldest, that had no room
};

// Replaces the file, at its place, by one of at most `target` bytes if that can be done, and lets `file` go on with it.
// Every k-th round stays, each with the latest counters of those left out before it, so that totals are exact wherever
// one is told. `keep_living` takes the dead out of a list of births.
// False when nothing was changed. Throws std::bad_alloc.
bool compact(CaptureFile* file, int64_t target, const std::function<void(std::vector<BirthEntry>*)>& keep_living,
             Compacted* done);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_COMPACTION_H_
