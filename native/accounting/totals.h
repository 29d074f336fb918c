// torch.memory(): memory held by handles and by libtorch, for the process.
#pragma once

#include "native/audit/audit.h"

namespace ltn::accounting {

// Any thread; does not allocate. Also read by the audit's writer thread.
audit::Totals read_totals() noexcept;

}  // namespace ltn::accounting
