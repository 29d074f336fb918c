// Which capture runs, for code that must neither stop nor judge another one.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_RUNNING_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_RUNNING_H_

#include <cstdint>

namespace ltn::audit {

// The number of the capture that runs, from 1 in the order of their beginnings; 0 without one.
uint32_t running_number() noexcept;

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_RUNNING_H_
