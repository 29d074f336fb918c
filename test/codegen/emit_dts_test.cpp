// Given a tiny model, when its declarations are emitted, then they have exactly these signatures for the name.
#include "test/codegen/emit_dts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "codegen/bindings/dts/doc.h"
#include "codegen/bindings/dts/text.h"
#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/spec/type_rules.h"
#include "codegen/bindings/text/names.h"
#include "codegen/common/diagnostics.h"

namespace codegen {
namespace {

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
  EXPECT_EQ(lines_of(files, "functions.d.ts", "rand(").at(1),
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
