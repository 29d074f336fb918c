// Given a tiny Declarations.yaml, when it is loaded, then the model has its contents or the error names line and
// expectation.
#include "codegen/bindings/input/load.h"

#include <gtest/gtest.h>

#include <fstream>

#include "codegen/common/diagnostics.h"

namespace codegen {
namespace {

// Line 1 is the version, line 2 starts the declaration.
const char* const kAdd = R"(# libtorch 9.8.7
- name: add_
  operator_name: add_
  overload_name: Tensor
  schema_string: aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  schema_order_arguments:
  - annotation: a!
    dynamic_type: at::Tensor
    is_nullable: false
    name: self
    type: at::Tensor &
  - annotation: null
    dynamic_type: at::Tensor
    is_nullable: false
    name: other
    type: const at::Tensor &
  - annotation: null
    default: 1
    dynamic_type: const at::Scalar &
    is_nullable: false
    kwarg_only: true
    name: alpha
    type: const at::Scalar &
  method_of:
  - Type
  - Tensor
  python_module: ''
  returns:
  - dynamic_type: at::Tensor
    name: self
    type: at::Tensor &
  ops_header: add_ops.h
)";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kAdd;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the test's text lacks " << from;
  return text.replace(at, from.size(), to);
}

void expect_refused(const std::string& text, int line, const std::string& message, const std::string& expected) {
  try {
    load_declarations_text(text, "D.yaml");
    FAIL() << "accepted, but should have said: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.line(), line) << error.what();
    EXPECT_NE(error.message().find(message), std::string::npos) << error.what();
    EXPECT_NE(error.expected().find(expected), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).rfind("D.yaml:" + std::to_string(line) + ": error: ", 0), 0U) << error.what();
  }
}

TEST(Load, HasTheContentsOfTheFile) {
  const Model model = load_declarations_text(kAdd, "D.yaml");
  EXPECT_EQ(model.libtorch_version, "9.8.7");
  ASSERT_EQ(model.declarations.size(), 1U);
  const Declaration& add = model.declarations[0];
  EXPECT_EQ(add.full_name(), "add_.Tensor");
  EXPECT_EQ(add.cpp_struct(), "add__Tensor");
  EXPECT_EQ(add.line, 2);
  EXPECT_TRUE(add.is_method);
  EXPECT_FALSE(add.is_function);
  EXPECT_EQ(add.ops_header, "add_ops.h");
  ASSERT_EQ(add.arguments.size(), 3U);
  EXPECT_EQ(add.arguments[0].alias, "a!");
  EXPECT_TRUE(add.arguments[0].mutated);
  EXPECT_FALSE(add.arguments[0].out);
  EXPECT_FALSE(add.arguments[1].mutated);
  EXPECT_FALSE(add.arguments[1].default_value.has_value());
  EXPECT_EQ(add.arguments[2].type.base, Base::Scalar);
  EXPECT_TRUE(add.arguments[2].kwarg_only);
  ASSERT_TRUE(add.arguments[2].default_value.has_value());
  EXPECT_EQ(add.arguments[2].default_value->kind, Default::Kind::Int);
  EXPECT_EQ(add.arguments[2].default_value->integer, 1);
  ASSERT_EQ(add.returns.size(), 1U);
  EXPECT_EQ(add.returns[0].alias, "a!");
  EXPECT_EQ(add.returns[0].name, "");
}

TEST(Load, AnOutArgumentIsOutAndKwargOnly) {
  std::string text = replaced("    name: alpha\n", "    name: alpha\n    output: true\n");
  text.replace(text.find("    kwarg_only: true\n"), 21, "");
  const Model model = load_declarations_text(text, "D.yaml");
  EXPECT_TRUE(model.declarations.at(0).arguments.at(2).out);
  EXPECT_TRUE(model.declarations.at(0).arguments.at(2).kwarg_only);
}

TEST(Load, RefusesMalformedYaml) {
  expect_refused(replaced("  method_of:", "  method_of: ["), 25, "malformed YAML", "torchgen");
}

TEST(Load, RefusesAMissingVersion) {
  expect_refused(replaced("# libtorch 9.8.7", "# other"), 1, "the libtorch version is missing", "# libtorch <version>");
}

TEST(Load, RefusesATextThatIsNotAList) {
  expect_refused("# libtorch 1.0\nname: add\n", 2, "the list of declarations is missing", "entries");
}

TEST(Load, RefusesAMissingKeyOfADeclaration) {
  expect_refused(replaced("  ops_header: add_ops.h\n", ""), 2, "'ops_header' is missing", "`ops_header:`");
}

TEST(Load, RefusesAMissingKeyOfAnArgument) {
  expect_refused(replaced("    name: other\n", ""), 12, "'name' is missing", "`name:`");
}

TEST(Load, RefusesAWrongNodeKind) {
  expect_refused(replaced("overload_name: Tensor", "overload_name: [Tensor]"), 4, "'overload_name' is not a scalar",
                 "scalar");
  expect_refused(replaced("  method_of:\n  - Type\n  - Tensor\n", "  method_of: Type\n"), 24,
                 "'method_of' is not a list", "a list");
  expect_refused(replaced("is_nullable: false", "is_nullable: maybe"), 9, "'is_nullable' is 'maybe'", "true or false");
}

TEST(Load, RefusesAnUnknownType) {
  expect_refused(replaced("dynamic_type: const at::Scalar &", "dynamic_type: at::Quaternion"), 19,
                 "unknown type 'at::Quaternion'", "type_table.cpp");
}

TEST(Load, RefusesAnUnknownVariant) {
  expect_refused(replaced("- Type\n", "- Typ\n"), 25, "unknown 'method_of' entry 'Typ'", "Type, Tensor or namespace");
}

TEST(Load, RefusesAWrongDefault) {
  expect_refused(replaced("default: 1", "default: one"), 18, "bad default `one` for 'alpha'", "a number");
  expect_refused(replaced("default: 1", "default: c10::nullopt"), 18, "bad default", "not nullable");
}

TEST(Load, RefusesASchemaOfAnotherOperator) {
  expect_refused(replaced("aten::add_.Tensor(", "aten::sub_.Tensor("), 5, "another operator", "aten::add_.Tensor(");
}

TEST(Load, RefusesASchemaWithOtherArguments) {
  expect_refused(replaced("Tensor other, ", ""), 5, "arguments or returns differ", "3 arguments and 1 returns");
}

TEST(Load, RefusesADuplicate) {
  const std::string text = kAdd;
  expect_refused(text + text.substr(text.find('\n') + 1), 33, "duplicate declaration of 'add_.Tensor'", "line 2");
}

TEST(Load, RefusesASecondArgumentOfOneName) {
  expect_refused(replaced("    name: other\n", "    name: self\n"), 15, "duplicate argument 'self'", "unique names");
}

TEST(Load, NamesAFileThatIsMissing) {
  try {
    load_declarations("/nonexistent/Declarations.yaml");
    FAIL() << "a missing file was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "/nonexistent/Declarations.yaml: error: cannot be opened, expected a readable file");
  }
}

TEST(Load, ReadsAFile) {
  const std::string path = ::testing::TempDir() + "codegen_load_test.yaml";
  std::ofstream(path) << kAdd;
  EXPECT_EQ(load_declarations(path).declarations.size(), 1U);
}

}  // namespace
}  // namespace codegen
