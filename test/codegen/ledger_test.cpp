// Given ops of which one is skipped by exceptions.yaml, when the ledger is written, then it says so with the reason.
#include <gtest/gtest.h>

#include <string>

#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/spec/parse_function.h"
#include "codegen/common/diagnostics.h"

namespace codegen {
namespace {

Declaration named_op(const std::string& text) {
  Declaration declaration = parse_function(text);
  declaration.schema = "aten::" + text;
  declaration.is_function = true;
  return declaration;
}

TEST(Ledger, ASkippedOpHasItsReasonAndNoName) {
  Model model;
  model.libtorch_version = "1.13.0";
  model.declarations = {named_op("sin(Tensor self) -> Tensor"), named_op("odd(Tensor self) -> Tensor")};
  Spec spec;
  spec.skipped["odd"] = {"nothing can call it", 4};
  const Plan plan = make_plan(model, spec);
  EXPECT_EQ(plan.row_count, 1);
  EXPECT_EQ(emit_ledger(plan),
            "# libtorch 1.13: 2 declarations = 1 generated + 1 skipped. Every one that is not skipped is also "
            "torch.ops.aten.<name>.<overload>.\n"
            "# schema\tstatus\treachable as\treason\n"
            "aten::sin(Tensor self) -> Tensor\tgenerated\ttorch.sin, Tensor.sin\t\n"
            "aten::odd(Tensor self) -> Tensor\tskipped\t\tnothing can call it\n");
}

TEST(Ledger, ASkippedOpMustBeDeclared) {
  Model model;
  model.declarations = {named_op("sin(Tensor self) -> Tensor")};
  Spec spec;
  spec.skipped["gone"] = {"a reason", 4};
  EXPECT_THROW(make_plan(model, spec), Error);
}

}  // namespace
}  // namespace codegen
