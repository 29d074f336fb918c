// torch.memory(): what handles hold and what libtorch holds, for the process.
#pragma once

#include "native/audit/audit.h"

namespace ltn::accounting {

// Any thread; does not allocate. Also what the audit's writer thread reads.
audit::Totals read_totals() noexcept;

}  // namespace ltn::accounting
