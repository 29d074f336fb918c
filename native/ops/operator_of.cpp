#include "native/ops/operator_of.h"

#include <string>

namespace ltn {

c10::optional<c10::OperatorHandle> operator_of(const OpRow& row) {
  const std::string name = row.name;
  const size_t dot = name.find('.');
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchema({name.substr(0, dot), overload});
}

BelowAutograd below_autograd_of(const OpRow& row) {
  const auto op = operator_of(row);
  if (!op.has_value()) return BelowAutograd::kNever;
  const BelowAutograd how = below_autograd_of(*op);
  return row.redispatch != nullptr || how == BelowAutograd::kFactory ? how : BelowAutograd::kNever;
}

}  // namespace ltn
