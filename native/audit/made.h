// How much was made since the running capture began.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_MADE_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_MADE_H_

#include <cstdint>

namespace ltn::audit {

// Of all sites, without what was there before; estimates in `sample` mode, 0 in `counters`.
struct Made {
  uint64_t tensors = 0, bytes = 0;
};

// Any thread.
Made made_so_far() noexcept;

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_MADE_H_
