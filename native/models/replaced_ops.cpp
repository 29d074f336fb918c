#include "native/models/replaced_ops.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ltn::models {
namespace {

using torch::jit::Operation;
using torch::jit::Operator;
using torch::jit::Stack;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// The last argument but `from_end`.
c10::IValue& argument(Stack& stack, size_t from_end) { return stack[stack.size() - 1 - from_end]; }

bool are_integers(Stack& stack) { return argument(stack, 0).isInt() && argument(stack, 1).isInt(); }

// The processor raises SIGFPE for a remainder of 0, and for kMin of -1, whose quotient is 2^63.
void check_remainder(Stack& stack) {
  if (!are_integers(stack)) return;
  TORCH_CHECK(argument(stack, 0).toInt() != 0, "ZeroDivisionError: integer modulo by zero");
  if (argument(stack, 0).toInt() == -1) argument(stack, 0) = int64_t{1};  // of both, every remainder is 0
}

void check_quotient(Stack& stack) {
  TORCH_CHECK(!are_integers(stack) || argument(stack, 0).toInt() != -1 || argument(stack, 1).toInt() != kMin,
              "OverflowError: ", kMin, " divided by -1 does not fit in 64 bits");
}

// The op takes remainders.
void check_divisors(Stack& stack) {
  for (size_t i = 0; i < 2; ++i) {
    if (argument(stack, i).toInt() == -1) argument(stack, i) = int64_t{1};
  }
}

// The op searches for the empty text at the same place for ever.
void check_count(Stack& stack) {
  TORCH_CHECK(!argument(stack, 2).toStringRef().empty(), "ValueError: count: expected a text, got an empty one");
}

void check_rsplit(Stack& stack) {
  TORCH_CHECK(!argument(stack, 1).toStringRef().empty(), "ValueError: rsplit: expected a separator, got an empty text");
}

void check_replace(Stack& stack) {
  TORCH_CHECK(!argument(stack, 2).toStringRef().empty(), "ValueError: replace: expected a text, got an empty one");
}

Operator checked(const Operator& op, void (*check)(Stack&)) {
  const c10::FunctionSchema& schema = op.schema();
  auto run = [check, original = op.getOperation()](Stack& stack) mutable {
    check(stack);
    original(stack);
  };
  return Operator(schema.name(), schema.overload_name(), schema.arguments(), schema.returns(),
                  Operation(std::move(run)), op.aliasAnalysisKind());
}

// Puts the check before the overloads of TorchScript's own op. The compiler takes the first one that fits, so those
// that stay are registered again too, in their order.
void replace(const char* name, const std::vector<std::string>& overloads, void (*check)(Stack&)) {
  // Nodes of graphs point to an op without owning it.
  static auto* const kept = new std::vector<std::shared_ptr<Operator>>();
  const auto found = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name));
  std::vector<std::shared_ptr<Operator>> own;
  std::copy_if(found.begin(), found.end(), std::back_inserter(own), [](const auto& op) { return !op->isC10Op(); });
  for (const auto& op : own) {
    kept->push_back(op);
    torch::jit::deregisterOperator(op->schema());
  }
  for (const auto& op : own) {
    const bool is_checked =
        std::find(overloads.begin(), overloads.end(), op->schema().overload_name()) != overloads.end();
    torch::jit::registerOperator(is_checked ? checked(*op, check) : Operator(*op));
  }
}

}  // namespace

void replace_ops() {
  static const bool is_done = [] {
    replace("aten::remainder", {"int", ""}, check_remainder);
    replace("aten::floordiv", {"int", ""}, check_quotient);
    replace("aten::divmod", {"int"}, check_quotient);
    replace("aten::gcd", {"int"}, check_divisors);
    replace("aten::count", {""}, check_count);
    replace("aten::rsplit", {""}, check_rsplit);
    replace("aten::replace", {""}, check_replace);
    return true;
  }();
  static_cast<void>(is_done);
}

}  // namespace ltn::models
