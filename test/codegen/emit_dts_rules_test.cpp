// Given a tiny model and rules of types.yaml, when its declarations are emitted, then they have exactly these
// signatures.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "codegen/bindings/spec/type_rules.h"
#include "codegen/common/diagnostics.h"
#include "test/codegen/emit_dts.h"

namespace codegen {
namespace {

TEST(EmitDts, ARuleMakesItsArgumentsTypeParameters) {
  Spec spec;
  spec.type_rules = {rule("add", {{"self", Base::Tensor}, {"other", Base::Tensor}}, "TensorOf<Sum<$self, $other>>",
                          {{"other", "Adds<$self, $other>"}})};
  const Files files = emitted(
      {op("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
       op("add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor >out) -> Tensor"),
       op("add.Scalar(Tensor self, Scalar other) -> Tensor"), op("add_.Tensor(Tensor !self, Tensor other) -> Tensor")},
      spec);
  const Lines lines = lines_of(files, "methods.d.ts", "add<");
  ASSERT_EQ(lines.size(), 4U) << "by position, by name, and to explain";
  EXPECT_EQ(lines[0],
            "add<TSelf extends Tensor, TOther extends Tensor, TOut extends Tensor = never>(this: TSelf, other: "
            "Fits<TOther, Adds<TSelf, TOther>>, options?: { alpha?: Scalar | undefined; out?: TOut | undefined }): "
            "TensorOf<OutOr<TOut, "
            "Sum<TSelf, TOther>>>;");
  EXPECT_EQ(lines[2],
            "add<TSelf extends Tensor, TOther extends Tensor, TOut extends Tensor = never>(this: TSelf, other: "
            "Fits<TOther, Adds<TSelf, TOther>> | Scalar, options?: { alpha?: Scalar | undefined; out?: TOut | "
            "undefined }): Tensor;");
  EXPECT_EQ(lines_of(files, "methods.d.ts", "add_<").at(0),
            "add_<TSelf extends Tensor, TOther extends Tensor>(this: TSelf, other: Fits<TOther, Adds<TSelf, TOther>>): "
            "TSelf;")
      << "the op that ends in '_' follows the rule, and returns what it writes to";
  EXPECT_NE(files.at("types/generated/methods.d.ts")
                .find("import type { Adds, Fits, OutOr, Sum, TensorOf } from '../algebra';"),
            std::string::npos);
}

TEST(EmitDts, ANumberMayBeTheFirstOperandOfAFunction) {
  Spec spec;
  spec.type_rules = {rule("sub", {{"self", Base::Tensor}, {"other", Base::Tensor}}, "TensorOf<Both<$self, $other>>"),
                     rule("sub", {{"self", Base::Scalar}, {"other", Base::Tensor}}, "TensorOf<Number<$self, $other>>"),
                     rule("max", {{"self", Base::Tensor}, {"other", Base::Tensor}}, "TensorOf<Both<$self, $other>>")};
  const Files files = emitted(
      {op("sub.Tensor(Tensor self, Tensor other) -> Tensor"), op("max.other(Tensor self, Tensor other) -> Tensor")},
      spec);
  const Lines lines = lines_of(files, "functions.d.ts", "sub<");
  EXPECT_EQ(std::count(lines.begin(), lines.end(),
                       "sub<const TSelf extends Scalar, TOther extends Tensor>(self: TSelf, other: In<K, TOther>, "
                       "...rest: Rest): Out<K, Number<TSelf, TOther>>;"),
            1);
  for (const std::string& line : lines_of(files, "methods.d.ts", "sub<")) {
    EXPECT_EQ(line.find("Scalar"), std::string::npos) << line;
  }
  for (const std::string& line : lines_of(files, "functions.d.ts", "max<")) {
    EXPECT_EQ(line.find("Scalar"), std::string::npos) << line;
  }
}

TEST(EmitDts, AFormForTensorsAndNumbersChecksTheNumberToo) {
  Spec spec;
  spec.type_rules = {
      rule("add_", {{"self", Base::Tensor}, {"other", Base::Tensor}}, "Tensor", {{"other", "A<$self>"}}),
      rule("add_", {{"self", Base::Tensor}, {"other", Base::Scalar}}, "Tensor", {{"other", "N<$self, $other>"}})};
  const Files files = emitted({op("add_.Tensor(Tensor !self, Tensor other) -> Tensor"),
                               op("add_.Scalar(Tensor !self, Scalar other) -> Tensor")},
                              spec);
  const Lines lines = lines_of(files, "methods.d.ts", "add_<");
  EXPECT_EQ(
      std::count(lines.begin(), lines.end(),
                 "add_<TSelf extends Tensor, TOther extends Tensor, const TOtherNumber extends Scalar>(this: TSelf, "
                 "other: Fits<TOther, A<TSelf>> | (TOtherNumber & N<TSelf, TOtherNumber>)): TSelf;"),
      2)
      << "alone, and to explain";
}

TEST(EmitDts, AnOpInPlaceThatReshapesHasTheTypeOfTheRule) {
  Spec spec;
  spec.type_rules = {rule("t", {{"self", Base::Tensor}}, "TensorOf<Turned<$self>>")};
  spec.type_rules[0].reshapes = true;
  const Files files =
      emitted({op("t_(Tensor !self) -> Tensor"), op("t.out(Tensor self, *, Tensor >out) -> Tensor")}, spec);
  EXPECT_EQ(lines_of(files, "methods.d.ts", "t_<").at(0),
            "t_<TSelf extends Tensor>(this: TSelf): TensorOf<Turned<TSelf>>;");
  EXPECT_NE(lines_of(files, "functions.d.ts", "t<").at(0).find("): Result<K, TOut>;"), std::string::npos)
      << "a tensor given as out keeps its type";
}

TEST(EmitDts, StringsHaveTheirWords) {
  Spec spec;
  StringRule named;
  named.ops = {"named"};
  named.argument = "mode";
  named.type = "'x' | 'y'";
  StringRule every;
  every.argument = "mode";
  every.type = "'trunc' | 'floor'";
  spec.string_rules = {named, every};
  spec.type_rules = {rule("typed", {{"self", Base::Tensor}, {"mode", Base::Str}}, "Rounded<$mode>")};
  const Files files =
      emitted({op("named_(Tensor self, str mode) -> Tensor"), op("other(Tensor self, str? mode) -> Tensor"),
               op("other2(Tensor self, str kind) -> Tensor"), op("typed(Tensor self, *, str? mode) -> Tensor")},
              spec);
  EXPECT_EQ(lines_of(files, "methods.d.ts", "named_(").at(0), "named_(mode: 'x' | 'y'): Tensor;");
  EXPECT_EQ(lines_of(files, "methods.d.ts", "other(").at(0), "other(mode: 'trunc' | 'floor' | null): Tensor;");
  EXPECT_EQ(lines_of(files, "methods.d.ts", "other2(").at(0), "other2(kind: string): Tensor;");
  EXPECT_EQ(lines_of(files, "methods.d.ts", "typed<").at(0),
            "typed<TSelf extends Tensor, const TMode extends 'trunc' | 'floor' | null>(this: TSelf, options: { mode: "
            "TMode }): Rounded<TMode>;");
}

TEST(EmitDts, ARulesDefaultsAreLiteralsAndRestNumbersAList) {
  Spec spec;
  spec.type_rules = {
      rule("view", {{"self", Base::Tensor}, {"size", Base::Int, true}}, "V<$size>", {{"size", "C<$size>"}}),
      rule("sum", {{"dim", Base::Int}, {"keepdim", Base::Bool}}, "S<$dim, $keepdim>")};
  const Files files = emitted({op("view(Tensor self, int[] size) -> Tensor"),
                               op("sum(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")},
                              spec);
  EXPECT_EQ(lines_of(files, "methods.d.ts", "view<").at(1),
            "view<TSelf extends Tensor, const TSize extends readonly Int[]>(this: TSelf, ...size: TSize & "
            "FirstOf<AtLeastOne<TSize>, C<TSize>>): V<TSize>;");
  EXPECT_EQ(lines_of(files, "methods.d.ts", "sum<").at(0),
            "sum<const TDim extends Int | null = null, const TKeepdim extends boolean = false>(dim?: TDim, keepdim?: "
            "TKeepdim): S<TDim, TKeepdim>;");
}

TEST(TypeRules, AnOverloadWithADimensionThatTheRuleLeavesOutDoesNotFollowIt) {
  Spec spec;
  spec.type_rules = {rule("squeeze", {{"self", Base::Tensor}}, "All<$self>")};
  EXPECT_NE(rule_of(spec, op("squeeze(Tensor self) -> Tensor")), nullptr);
  EXPECT_EQ(rule_of(spec, op("squeeze.dim(Tensor self, int dim) -> Tensor")), nullptr);
  EXPECT_EQ(rule_of(spec, op("squeeze.dimname(Tensor self, Dimname dim) -> Tensor")), nullptr);
  spec.type_rules[0].ignores = {"dim"};
  EXPECT_NE(rule_of(spec, op("squeeze.dim(Tensor self, int dim) -> Tensor")), nullptr);
}

TEST(TypeRules, ARuleThatNoOverloadCanFollowIsAnError) {
  Spec spec;
  spec.type_rules = {rule("relu", {{"input", Base::Tensor}}, "R<$input>")};
  Model model;
  EXPECT_NO_THROW(check_rules(spec, model)) << "an op that this libtorch lacks";
  model.declarations = {op("relu(Tensor self) -> Tensor")};
  EXPECT_THROW(check_rules(spec, model), Error);
}

}  // namespace
}  // namespace codegen
