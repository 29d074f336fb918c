// How much memory this process may have: what its control group allows, or what the machine has.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_MEMORY_LIMIT_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace ltn::audit {

struct MemoryLimit {
  uint64_t bytes = 0;
  bool of_group = false;
};

// The smallest that holds, as cli/memory_limit.ts reads it. `root` is where /proc and /sys are looked for.
MemoryLimit memory_limit(const std::string& root = "");

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_MEMORY_LIMIT_H_
