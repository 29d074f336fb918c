// The rank of the process in a group of processes, which each capture names.
#pragma once

#include <cstdint>

namespace ltn::audit {

// Negative: none. Set before a capture starts. Thread: any.
void set_rank(int64_t rank, int64_t world_size) noexcept;

}  // namespace ltn::audit
