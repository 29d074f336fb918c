// The op of a row in libtorch's dispatcher.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Optional.h>

#include "native/ops/below_autograd.h"
#include "native/schema/op_table.h"

namespace ltn {

// Of "aten::add.Tensor" of the op table; none if libtorch's dispatcher does not know it. Makes strings and takes locks.
c10::optional<c10::OperatorHandle> operator_of(const OpRow& row);

// As that of its op, but never for one that takes tensors and has no `redispatch` in its row.
BelowAutograd below_autograd_of(const OpRow& row);

}  // namespace ltn
