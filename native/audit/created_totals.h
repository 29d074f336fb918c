// How much was created since the running capture began.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_CREATED_TOTALS_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_CREATED_TOTALS_H_

#include <cstdint>

namespace ltn::audit {

// Over all sites, without what existed before; estimates in `sample` mode, 0 in `counters`.
struct CreatedTotals {
  uint64_t tensors = 0, bytes = 0;
};

// Any thread.
CreatedTotals created_totals() noexcept;

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_CREATED_TOTALS_H_
