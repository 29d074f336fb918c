// Compaction of a capture with a size limit: rewrites it with all totals, without the details of freed tensors, and
// with fewer rounds.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_COMPACTION_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_COMPACTION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "native/audit/capture_file.h"

namespace ltn::audit {

struct Compacted {
  uint64_t dropped_births = 0;  // the oldest live ones, which did not fit
};

// Replaces the file by one of at most `target` bytes if possible, and switches `file` to it. Every k-th round stays,
// with the latest counters of the rounds dropped before it, so each remaining total is exact. `keep_live` removes the
// dead from a list of births. False when nothing was changed. Throws std::bad_alloc.
bool compact(CaptureFile* file, int64_t target, const std::function<void(std::vector<BirthEntry>*)>& keep_live,
             Compacted* done);

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_COMPACTION_H_
