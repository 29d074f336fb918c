// How much memory this process may use: the limit of its control group, or the memory of the machine.
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_MEMORY_LIMIT_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace ltn::audit {

struct MemoryLimit {
  uint64_t bytes = 0;
  bool of_group = false;
};

// The smallest limit that applies, as cli/machine/memory-limit.ts computes it. `root` is the prefix of /proc and /sys.
MemoryLimit memory_limit(const std::string& root = "");

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_MEMORY_LIMIT_H_
