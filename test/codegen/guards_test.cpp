// Given a folder of guards, when it is loaded and emitted, then an op has its check, or the error names line and
// expectation.
#include "codegen/bindings/spec/guards.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/spec/parse_function.h"
#include "codegen/common/diagnostics.h"

namespace codegen {
namespace {

const char* const kDivides = R"(guards:
  - ops: [shuffle]
    argument: groups
    demand: groups > 0
    expected: '"a number above 0"'
    got: groups
    reason: The op divides by it.
)";

std::map<std::string, Guard> loaded(const std::string& text) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "guards";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "some.yaml") << text;
  return load_guards(folder);
}

Model with(const std::string& schema) {
  Model model;
  Declaration declaration = parse_function(schema);
  declaration.schema = "aten::" + schema;
  for (Argument& argument : declaration.arguments) argument.out = argument.name == "out";
  model.declarations.push_back(declaration);
  return model;
}

std::string error_of(const std::string& yaml, const std::string& schema) {
  Spec spec;
  try {
    spec.guards = loaded(yaml);
    check_guards(spec, with(schema));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Guards, TheCheckSeesTheArgumentsByName) {
  const auto guards = loaded(kDivides);
  const Model model = with("shuffle(Tensor self, int groups) -> Tensor");
  const std::string text = guard_struct(model.declarations[0], guards.at("shuffle"));
  EXPECT_NE(text.find("// The op divides by it.\nstruct Guard_shuffle {"), std::string::npos) << text;
  EXPECT_NE(text.find("const A0& self, [[maybe_unused]] const A1& groups"), std::string::npos) << text;
  EXPECT_NE(text.find("TORCH_CHECK(groups > 0, \"groups: expected \", \"a number above 0\", \", got \", groups)"),
            std::string::npos)
      << text;
}

TEST(Guards, AnArgumentThatAnotherReleaseRenamedKeepsItsNameInTheCheck) {
  const std::string text = std::string(kDivides) + "    renamed: { groups: num_groups }\n";
  const Model model = with("shuffle(Tensor self, int num_groups) -> Tensor");
  EXPECT_NE(guard_struct(model.declarations[0], loaded(text).at("shuffle")).find("const A1& groups)"),
            std::string::npos);
  EXPECT_EQ(error_of(text, "shuffle(Tensor self, int num_groups) -> Tensor"), "");
  EXPECT_EQ(error_of(text, "shuffle(Tensor self, int groups) -> Tensor"), "");
}

TEST(Guards, OnlyTheGuardedRowIsDifferent) {
  Model model = with("shuffle(Tensor self, int groups) -> Tensor");
  model.declarations.push_back(with("pass(Tensor self, int groups) -> Tensor").declarations[0]);
  Spec spec;
  spec.guards = loaded(kDivides);
  std::string all;
  for (const auto& [name, text] : emit_cpp(make_plan(model, spec))) all += text;
  EXPECT_NE(all.find("&Guarded<&at::_ops::shuffle::call, Guard_shuffle>::call"), std::string::npos);
  EXPECT_NE(all.find("&Guarded<&at::_ops::shuffle::call, Guard_shuffle>::check_boxed, reinterpret_cast<AnyFunction>("
                     "&Guarded<&at::_ops::shuffle::call, Guard_shuffle>::below<&at::_ops::shuffle::redispatch>)}"),
            std::string::npos);
  EXPECT_NE(all.find("reinterpret_cast<AnyFunction>(&at::_ops::pass::call), 0u,"), std::string::npos);
  EXPECT_NE(all.find("nullptr, reinterpret_cast<AnyFunction>(&at::_ops::pass::redispatch)}"), std::string::npos);
}

TEST(Guards, AnOpThatIsNotDeclaredIsAnErrorUnlessSomeReleasesLackIt) {
  const std::string other = "pass(Tensor self, int groups) -> Tensor";
  EXPECT_NE(error_of(kDivides, other).find("'shuffle' is not declared"), std::string::npos);
  EXPECT_EQ(error_of(std::string(kDivides) + "    some_releases: true\n", other), "");
}

const char* const kApart = R"(apart:
  - ops: [shuffle_out]
    reason: The op gives out its sizes first.
)";

TEST(Guards, AResultThatIsATensorWhichTheOpReadsIsRefused) {
  const std::string schema = "shuffle_out(Tensor self, Tensor? weight, int groups, *, Tensor out) -> Tensor";
  const std::string text = guard_struct(with(schema).declarations[0], loaded(kApart).at("shuffle_out"));
  const std::string check =
      "TORCH_CHECK(!out.is_same(self), \"out: expected a tensor other than self, got the same tensor\");";
  EXPECT_NE(text.find("// The op gives out its sizes first.\nstruct Guard_shuffle_out {"), std::string::npos) << text;
  EXPECT_NE(text.find(check), std::string::npos) << text;
  const std::string optional =
      "TORCH_CHECK(!(weight.has_value() && out.is_same(*weight)), \"out: expected a tensor other than weight, got the "
      "same tensor\");";
  EXPECT_NE(text.find(optional), std::string::npos) << text;
  EXPECT_EQ(error_of(kApart, schema), "");
}

TEST(Guards, ARefusedResultComesBesideTheConditionOfTheOp) {
  std::string yaml = kDivides;
  yaml += "apart:\n  - ops: [shuffle]\n    reason: And this.\n";
  const Guard guard = loaded(yaml).at("shuffle");
  EXPECT_TRUE(guard.apart);
  EXPECT_EQ(guard.reason, "The op divides by it. And this.");
  EXPECT_EQ(guard.demand, "groups > 0");
}

TEST(Guards, AnOpInApartIsDeclaredHasAResultAndIsListedOnce) {
  const std::string schema = "shuffle_out(Tensor self, int groups) -> Tensor";
  EXPECT_NE(error_of(kApart, schema).find("'shuffle_out' writes no result to an argument"), std::string::npos);
  EXPECT_NE(error_of(kApart, "pass(Tensor self) -> Tensor").find("'shuffle_out' is not declared"), std::string::npos);
  EXPECT_EQ(error_of(std::string(kApart) + "    some_releases: true\n", "pass(Tensor self) -> Tensor"), "");
  const std::string twice = std::string(kApart) + "  - ops: [shuffle_out]\n    reason: Again.\n";
  EXPECT_NE(error_of(twice, schema).find("the op is listed twice"), std::string::npos);
}

TEST(Guards, WhatIsWrongInTheFileIsNamed) {
  const std::string schema = "shuffle(Tensor self, int parts) -> Tensor";
  EXPECT_NE(error_of(kDivides, schema).find("does not take 'groups'"), std::string::npos);
  EXPECT_NE(
      error_of(std::string(kDivides) + "    some_releases: 1\n", schema).find("'some_releases' has an invalid value"),
      std::string::npos);
  EXPECT_NE(error_of("guard:\n", schema).find("expected 'guards' or 'apart'"), std::string::npos);
  EXPECT_NE(error_of("guards:\n  - ops: [a]\n    argument: b\n", schema).find("'demand' is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace codegen
