// The rank of the process in a group of processes, which each capture names.
#pragma once

#include <cstdint>

namespace ltn::audit {

// Negative: none. Thread: any.
void set_rank(int64_t rank, int64_t world_size) noexcept;

// The same, unless a rank is set. A capture that is being written names it from its next round on.
void learn_rank(int64_t rank, int64_t world_size) noexcept;

}  // namespace ltn::audit
