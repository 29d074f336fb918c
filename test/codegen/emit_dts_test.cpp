// Given a tiny model, when its declarations are emitted, then they have exactly these signatures for the name.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/bindings/dts/doc.h"
#include "codegen/bindings/dts/text.h"
#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/spec/parse_function.h"
#include "codegen/bindings/spec/type_rules.h"
#include "codegen/bindings/text/names.h"
#include "codegen/common/diagnostics.h"

namespace codegen {
namespace {

// Parses "add.Tensor(Tensor self, …) -> Tensor"; a name's prefix '>' marks an out argument, '!' one written to.
Declaration op(const std::string& text) {
  Declaration declaration = parse_function(text);
  declaration.schema = "aten::" + text;
  declaration.is_function = true;
  const size_t dot = declaration.name.find('.');
  if (dot != std::string::npos) {
    declaration.overload = declaration.name.substr(dot + 1);
    declaration.name.resize(dot);
  }
  for (Argument& argument : declaration.arguments) {
    argument.out = argument.name[0] == '>';
    argument.mutated = argument.out || argument.name[0] == '!';
    if (!argument.mutated) continue;
    argument.name.erase(0, 1);
    argument.alias = "a!";
    if (declaration.returns.size() == 1) declaration.returns[0].alias = "a!";
  }
  return declaration;
}

Files emitted(const std::vector<Declaration>& declarations, const Spec& spec = {}) {
  Model model;
  model.declarations = declarations;
  return emit_dts(make_plan(model, spec));
}

// The lines of a file that declare `name`, without the indentation.
std::vector<std::string> lines_of(const Files& files, const std::string& file, const std::string& name) {
  std::vector<std::string> lines;
  std::istringstream text(files.at("types/generated/" + file));
  for (std::string line; std::getline(text, line);) {
    const size_t start = line.find_first_not_of(' ');
    if (start != std::string::npos && line.compare(start, name.size(), name) == 0) lines.push_back(line.substr(start));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(EmitDts, FunctionsAreInTermsOfWhatTorchAndTorchAsyncDoNotHaveInCommon) {
  const Files files = emitted({op("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
                               op("cat(Tensor[] tensors) -> Tensor"), op("size(Tensor self) -> int[]")});
  EXPECT_EQ(lines_of(files, "functions.d.ts", "add(").at(0),
            "add(self: Given, other: Given, options?: { alpha?: Scalar | undefined } & Sig): Made;");
  EXPECT_EQ(lines_of(files, "functions.d.ts", "cat(").at(0),
            "cat(tensors: TensorList | Promises, ...rest: Rest): Made;");
  EXPECT_EQ(lines_of(files, "functions.d.ts", "size(").at(0), "size(self: Given, ...rest: Rest): Result<K, Int[]>;");
  EXPECT_EQ(
      lines_of(files, "functions.d.ts", "export interface Functions<K extends Mode = 'now', Given = In<K, Tensor>")
          .size(),
      1U);
}

TEST(EmitDts, AnOutVariantJoinsTheSignatureThatItExtends) {
  const Files files = emitted({op("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
                               op("add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor >out) -> Tensor")});
  EXPECT_EQ(lines_of(files, "functions.d.ts", "add("),
            (Lines{"add(self: Given, other: Given, options?: { alpha?: Scalar | undefined; out?: Tensor | undefined "
                   "} & Sig): Made;",
                   "add(self: Given, options: { other: Given; alpha?: Scalar | undefined; out?: Tensor | undefined "
                   "} & Sig): Made;",
                   "add(options: { self: Given; other: Given; alpha?: Scalar | undefined; out?: Tensor | undefined "
                   "} & Sig): Made;"}));
  EXPECT_EQ(lines_of(files, "methods.d.ts", "add("),
            (Lines{"add(other: Tensor, options?: { alpha?: Scalar | undefined; out?: Tensor | undefined }): Tensor;",
                   "add(options: { other: Tensor; alpha?: Scalar | undefined; out?: Tensor | undefined }): Tensor;"}));
}

TEST(EmitDts, AnOutVariantWithOtherArgumentsStandsAlone) {
  const Files files = emitted({op("add.Tensor(Tensor self, *, Scalar alpha=1) -> Tensor"),
                               op("add.out(Tensor self, *, Scalar alpha=2, Tensor >out) -> Tensor")});
  EXPECT_EQ(lines_of(files, "methods.d.ts", "add("),
            (Lines{"add(options?: { alpha?: Scalar | undefined; out?: undefined }): Tensor;", "add(_0: never): never;",
                   "add(options: { alpha?: Scalar | undefined }): Tensor;"}))
      << "and once more to explain";
  EXPECT_EQ(lines_of(files, "methods.d.ts", "add<"),
            (Lines{"add<TOut extends Tensor>(options: { alpha?: Scalar | undefined; out: TOut }): TOut;"}));
}

TEST(EmitDts, OptionalParametersGoByPositionOrByName) {
  const Files files =
      emitted({op("sum(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")});
  EXPECT_EQ(lines_of(files, "methods.d.ts", "sum("),
            (Lines{"sum(dim: readonly Int[] | null, keepdim?: boolean, options?: Options<{ dtype?: DTypeLike | null | "
                   "undefined }>): Tensor;",
                   "sum(dim: readonly Int[] | null, options: Options<{ keepdim?: boolean | undefined; dtype?: "
                   "DTypeLike | null | undefined }>): Tensor;",
                   "sum(options: { dim: readonly Int[] | null; keepdim?: boolean | undefined; dtype?: DTypeLike | null "
                   "| undefined }): Tensor;"}));
}

TEST(EmitDts, OptionalOptionsListNamesOfOtherOverloads) {
  const Files files =
      emitted({op("sum(Tensor self, *, Scalar s=1) -> Tensor"), op("sum.d(Tensor self, int dim) -> Tensor"),
               op("_sum(Tensor self, *, Scalar s=1) -> Tensor"), op("_sum.d(Tensor self, int dim) -> Tensor")});
  EXPECT_EQ(lines_of(files, "methods.d.ts", "sum(").at(0),
            "sum(options?: { s?: Scalar | undefined; dim?: undefined }): Tensor;");
  EXPECT_EQ(lines_of(files, "methods.d.ts", "sum(").at(2), "sum(options: { dim: Int }): Tensor;");
  EXPECT_EQ(lines_of(files, "methods.d.ts", "_sum(").at(0), "_sum(options?: { s?: Scalar | undefined }): Tensor;");
}

TEST(EmitDts, NamespacesAreExported) {
  Declaration gelu = op("gelu(Tensor self) -> Tensor");
  gelu.python_module = "nn";
  const std::string text = emitted({gelu, op("add(Tensor self) -> Tensor")}).at("types/generated/exports.d.ts");
  EXPECT_NE(text.find("export declare const nn: { readonly functional: NnFunctionalFunctions };\n"), std::string::npos)
      << text;
}

TEST(EmitDts, InternalOpsHaveFewerForms) {
  const std::string arguments = "(Tensor self, Tensor b, int c=0, int d=0) -> Tensor";
  const Files files = emitted({op("f" + arguments), op("_f" + arguments)});
  EXPECT_EQ(lines_of(files, "functions.d.ts", "f(").size(), 5U);
  EXPECT_EQ(lines_of(files, "functions.d.ts", "_f(").size(), 4U);
}

TEST(EmitDts, ALoneListMayBeRestNumbers) {
  const Files files =
      emitted({op("view(Tensor self, int[] size) -> Tensor"), op("rand(int[] size, *, int n=0) -> Tensor")});
  EXPECT_EQ(lines_of(files, "methods.d.ts", "view("),
            (Lines{"view(size: readonly Int[]): Tensor;", "view(options: { size: readonly Int[] }): Tensor;"}));
  EXPECT_EQ(lines_of(files, "methods.d.ts", "view<"),
            (Lines{"view<const TList extends readonly Int[]>(...size: TList & AtLeastOne<TList>): Tensor;"}));
  EXPECT_EQ(lines_of(files, "functions.d.ts", "view(").size(), 3U) << "self is positional too";
  EXPECT_EQ(lines_of(files, "functions.d.ts", "rand(").at(2),
            "rand(...args: [...size: Int[], options: { n?: Int | undefined } & Sig]): Made;");
}

TEST(EmitDts, FactoriesTakeRequiresGrad) {
  const Files files =
      emitted({op("zeros(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
                  "bool? pin_memory=None) -> Tensor")});
  EXPECT_EQ(
      lines_of(files, "functions.d.ts", "zeros<").at(0),
      "zeros<const TDevice extends string = Device>(size: readonly Int[], options?: Options<{ dtype?: DTypeLike | "
      "null | undefined; layout?: Layout | null | undefined; "
      "device?: DeviceLike<TDevice> | null | undefined; pinMemory?: boolean | null | undefined; requiresGrad?: boolean "
      "| "
      "undefined } & Sig>): Made;");
}

TEST(EmitDts, OpsThatReturnSelfHaveItsType) {
  const Files files = emitted({op("relu_(Tensor !self) -> Tensor")});
  EXPECT_EQ(lines_of(files, "methods.d.ts", "relu_<").at(0), "relu_<TSelf extends Tensor>(this: TSelf): TSelf;");
  EXPECT_EQ(lines_of(files, "functions.d.ts", "relu_<").at(0),
            "relu_<TSelf extends Tensor>(self: In<K, TSelf>, ...rest: Rest): Result<K, TSelf>;");
}

// A rule as in types.yaml.
TypeRule rule(const std::string& op, std::vector<TypeRule::Bind> binds, const std::string& result,
              std::map<std::string, std::string> checks = {}) {
  TypeRule made;
  made.ops = {op};
  made.binds = std::move(binds);
  made.results = {result};
  made.checks = std::move(checks);
  return made;
}

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
      1);
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

TEST(EmitDts, TuplesCarryTheirNamesAndOutsAreGivenTogether) {
  Declaration max = op("max(Tensor self) -> Tensor");
  max.returns = {{Type{}, "values", ""}, {Type{}, "max_indices", ""}};
  Declaration out = op("max.out(Tensor self, *, Tensor >max, Tensor >indices) -> ()");
  out.returns = max.returns;
  EXPECT_EQ(lines_of(emitted({max, out}), "methods.d.ts", "max(").at(0),
            "max(options?: { out?: readonly [Tensor, Tensor] | undefined }): NamedTuple<[values: Tensor, maxIndices: "
            "Tensor], "
            "{ values: Tensor; maxIndices: Tensor }>;");
  max.returns = {{Type{}, "", ""}, {Type{}, "", ""}};
  EXPECT_EQ(lines_of(emitted({max}), "methods.d.ts", "max(").at(0), "max(): [Tensor, Tensor];");
}

TEST(EmitDts, RawOpsHaveExactNames) {
  const Files files = emitted(
      {op("arg_max(Tensor self, int lambda_x, *, bool pin_memory=False) -> int"), op("arg_max.0(Tensor self) -> ()")});
  EXPECT_EQ(lines_of(files, "ops.d.ts", "arg_max:").size(), 1U);
  EXPECT_EQ(lines_of(files, "ops.d.ts", "default:").at(0),
            "default: RawOp<(self: Tensor, lambda_x: Int, options?: { pin_memory?: boolean | undefined }) => Int>;");
  EXPECT_EQ(lines_of(files, "ops.d.ts", "'0':").at(0), "'0': RawOp<(self: Tensor) => void>;");
}

TEST(EmitDts, ExportsOfReservedWordsGoByAnotherName) {
  const std::string text = emitted({op("var(Tensor self) -> Tensor")}).at("types/generated/exports.d.ts");
  EXPECT_NE(text.find("declare const var_: Functions['var'];\nexport { var_ as var };\n"), std::string::npos) << text;
}

TEST(EmitDts, NamespacesAreInterfaces) {
  Declaration gelu = op("gelu(Tensor self) -> Tensor");
  gelu.python_module = "nn";
  const std::string text = emitted({gelu}).at("types/generated/functions.d.ts");
  EXPECT_NE(text.find("export interface NnFunctionalFunctions<K extends Mode = 'now', "), std::string::npos) << text;
  EXPECT_NE(
      text.find("   * torch.nn.functional.gelu: `aten::gelu(Tensor self) -> Tensor`\n   * @param self - a tensor\n"),
      std::string::npos)
      << text;
}

PublicFunction public_function(const std::string& schema, const std::string& space, bool extends) {
  PublicFunction function;
  function.signatures = {parse_function(schema)};
  function.name = function.signatures[0].name;
  function.js_name = camel_case(function.name);
  function.spaces = {space};
  function.file = "lib/public/some.ts";
  function.reason = "A reason.";
  function.extends = extends;
  return function;
}

TEST(EmitDts, PublicFunctionsReplaceOpsOrExtendThem) {
  Spec spec;
  spec.publics.push_back(public_function("meshgrid(Tensor... tensors, *, str? indexing=None) -> Tensor[]", "", true));
  spec.publics.push_back(public_function("unique(Tensor input, bool sorted=True) -> Tensor", "", false));
  spec.publics.push_back(public_function("float(Tensor self) -> Tensor", "Tensor", false));
  const Files files =
      emitted({op("meshgrid(Tensor[] tensors) -> Tensor[]"), op("unique(Tensor self) -> (Tensor, Tensor)")}, spec);
  const auto meshgrid = lines_of(files, "functions.d.ts", "meshgrid(");
  ASSERT_GE(meshgrid.size(), 4U);
  EXPECT_EQ(meshgrid[0], "meshgrid(tensors: TensorList | Promises, ...rest: Rest): Result<K, Parts<Tensor>>;");
  EXPECT_NE(std::find(meshgrid.begin(), meshgrid.end(), "meshgrid(...tensors: Tensor[]): Result<K, Parts<Tensor>>;"),
            meshgrid.end());
  EXPECT_NE(std::find(meshgrid.begin(), meshgrid.end(),
                      "meshgrid(...args: [...tensors: Tensor[], options: { indexing?: string | null | undefined } & "
                      "Sig]): Result<K, Parts<Tensor>>;"),
            meshgrid.end());
  for (const std::string& line : lines_of(files, "functions.d.ts", "unique(")) {
    EXPECT_EQ(line.find("[Tensor, Tensor]"), std::string::npos) << line;
  }
  EXPECT_EQ(lines_of(files, "methods.d.ts", "float(").at(0), "float(): Tensor;");
}

TEST(EmitDts, ClosedNamespacesShowTheNamesInTheSpec) {
  Spec spec;
  spec.closed["nn.functional"] = {
      false, {"gelu"}, {{"logsigmoid", "log_sigmoid"}, {"conv1d", "conv1d"}, {"no", "nothing"}}};
  Declaration gelu = op("gelu(Tensor self) -> Tensor");
  Declaration sigmoid = op("log_sigmoid(Tensor self) -> Tensor");
  Declaration inner = op("gelu_backward(Tensor grad, Tensor self) -> Tensor");
  for (Declaration* declaration : {&gelu, &sigmoid, &inner}) declaration->python_module = "nn";
  const Files files = emitted({gelu, sigmoid, inner, op("conv1d(Tensor input) -> Tensor")}, spec);
  EXPECT_EQ(lines_of(files, "functions.d.ts", "gelu(").at(0), "gelu(self: Given, ...rest: Rest): Made;");
  EXPECT_EQ(lines_of(files, "functions.d.ts", "logsigmoid(").at(0), "logsigmoid(self: Given, ...rest: Rest): Made;");
  EXPECT_EQ(lines_of(files, "functions.d.ts", "conv1d(").at(0), "conv1d(input: Given, ...rest: Rest): Made;");
  EXPECT_TRUE(lines_of(files, "functions.d.ts", "geluBackward(").empty());
  EXPECT_TRUE(lines_of(files, "functions.d.ts", "no(").empty());
}

TEST(EmitDts, ClassesAreDeclared) {
  Spec spec;
  ClassFunction make{parse_function("new(Device? device=None) -> Generator"), "f", "Makes one.", true};
  ClassFunction seed{parse_function("manual_seed(Generator self, int seed) -> ()"), "g", "Seeds.", false};
  spec.classes.push_back({"Generator", "generator.h", "Random.", {make, seed}});
  const Files files = emitted({}, spec);
  EXPECT_EQ(lines_of(files, "classes.d.ts", "constructor").at(0), "constructor(device?: Device | null);");
  EXPECT_EQ(lines_of(files, "classes.d.ts", "manualSeed").at(0), "manualSeed(seed: Int): void;");
  EXPECT_EQ(lines_of(files, "classes.d.ts", "[Symbol.dispose]").size(), 1U);
}

TEST(DtsText, ArgumentTypes) {
  const auto type = [](Base base, int size, bool element_nullable = false) {
    Type result;
    result.base = base;
    result.list = true;
    result.size = size;
    result.element_nullable = element_nullable;
    return ts_argument(result);
  };
  EXPECT_EQ(type(Base::Int, 2), "Int | readonly Int[]");
  EXPECT_EQ(type(Base::Bool, 2), "readonly [boolean, boolean]");
  EXPECT_EQ(type(Base::Tensor, 0, true), "TensorList<Tensor | null>");
  EXPECT_EQ(type(Base::Dimname, 1), "string | readonly (string | null)[]");
  EXPECT_EQ(doc_line("", "f(Tensor(a -> */) x)"), "  /** `f(Tensor(a -> *\\/) x)` */\n");
}

}  // namespace
}  // namespace codegen
