// Step 1 without libtorch: the registration header's lines, schema texts, header scans, modules and YAML text.
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "codegen/common/diagnostics.h"
#include "codegen/common/output.h"
#include "codegen/common/schema_text.h"
#include "codegen/declarations/headers.h"
#include "codegen/declarations/modules.h"
#include "codegen/declarations/registrations.h"
#include "codegen/declarations/yaml_text.h"

namespace codegen {
namespace {

namespace fs = std::filesystem;

class Declarations : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("codegen_declarations_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name, const std::string& text) const {
    write_if_changed(folder_ / name, text);
    return folder_ / name;
  }

  fs::path folder_;
};

int refused_line(const fs::path& header) {
  try {
    read_registrations(header);
  } catch (const Error& error) {
    return error.line();
  }
  return -1;
}

TEST_F(Declarations, ReadsRegistrationsInOrder) {
  const auto lines = read_registrations(file("R.h",
                                             "#if !defined(TORCH_STABLE_ONLY)\n// a comment\n"
                                             "Tensor f(str a); // {\"schema\": \"aten::f(str a=\\\"x\\\") -> Tensor\", "
                                             "\"dispatch\": \"True\", \"default\": \"False\"}\n"
                                             "Tensor g(); // {\"schema\": \"aten::g() -> Tensor\", "
                                             "\"dispatch\": \"False\", \"default\": \"True\"}\n"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].schema, "aten::f(str a=\"x\") -> Tensor");
  EXPECT_EQ(lines[0].line, 3);
  EXPECT_TRUE(lines[0].dispatch);
  EXPECT_FALSE(lines[1].dispatch);
}

TEST_F(Declarations, RefusesLinesThatAreNotRegistrations) {
  EXPECT_EQ(refused_line(file("a.h", "\nTensor f();\n")), 2);
  EXPECT_EQ(refused_line(file("b.h", "Tensor f(); // {\"schema\": \n")), 1);
  EXPECT_EQ(refused_line(file("c.h", "// x\n// y\nTensor f(); // {\"dispatch\": \"True\"}\n")), 3);
  EXPECT_EQ(refused_line(file("d.h", "Tensor f(); // {\"schema\": \"s\", \"dispatch\": \"Perhaps\"}\n")), 1);
  EXPECT_EQ(refused_line(file("e.h", "// nothing\n")), 0);
  EXPECT_EQ(refused_line(folder_ / "missing.h"), 0);
}

TEST(SchemaText, CutsTypesAnnotationsNamesAndDefaults) {
  const SchemaText text = cut_schema(
      "aten::f.x(Tensor(a -> *) self, int[2] stride=[1,1], str s='a, (b', *, Tensor(b!)? out=None) -> (Tensor(b!) u, "
      "int)");
  ASSERT_EQ(text.arguments.size(), 4U);
  EXPECT_EQ(text.arguments[0].annotation, "a -> *");
  EXPECT_EQ(text.arguments[0].name, "self");
  EXPECT_EQ(text.arguments[1].word, "int");
  EXPECT_EQ(text.arguments[1].default_text, "[1,1]");
  EXPECT_EQ(text.arguments[2].default_text, "'a, (b'");
  EXPECT_EQ(text.arguments[3].annotation, "b!");
  EXPECT_EQ(text.arguments[3].name, "out");
  ASSERT_EQ(text.returns.size(), 2U);
  EXPECT_EQ(text.returns[0].name, "u");
  EXPECT_EQ(text.returns[1].name, "");
  EXPECT_TRUE(cut_schema("aten::g() -> ()").returns.empty());
  EXPECT_THROW(cut_schema("aten::g"), std::invalid_argument);
  EXPECT_THROW(cut_schema("aten::g(Tensor a"), std::invalid_argument);
}

TEST_F(Declarations, ScansHeadersForStructsMethodsFunctionsAndSpelling) {
  file("torch/csrc/api/include/torch/version.h",
       "#define TORCH_VERSION_MAJOR 3\n#define TORCH_VERSION_MINOR 1\n#define TORCH_VERSION_PATCH 4\n");
  file("ATen/core/TensorBody.h", "return at::_ops::f_x::call(*this);");
  file("ATen/ops/f.h", "return at::_ops::f_y::call(a); at::_ops::f_x::redispatch(b);");
  file("ATen/ops/f_ops.h",
       "struct TORCH_API f_x {\n  using schema = int (::std::optional<int>);\n};\n"
       "struct TORCH_API f_y {\n  using schema = int (int);\n};\n");
  const Headers headers = scan_headers(folder_);
  EXPECT_EQ(headers.version, "3.1.4");
  EXPECT_EQ(headers.structs.at("f_x").header, "f_ops.h");
  EXPECT_EQ(headers.structs.at("f_y").signature, "int (int)");
  EXPECT_EQ(headers.methods, (std::unordered_set<std::string>{"f_x"}));
  EXPECT_EQ(headers.functions, (std::unordered_set<std::string>{"f_y"}));
  EXPECT_EQ(headers.spelling.optional, "::std::optional");
  EXPECT_EQ(headers.spelling.string_view, "c10::string_view");

  fs::remove(folder_ / "ATen/core/TensorBody.h");
  EXPECT_THROW(scan_headers(folder_), Error);
}

TEST_F(Declarations, ModulesComeFromExceptionsThenPrefixes) {
  const PythonModules modules(file("m.yaml",
                                   "prefixes: [fft]\nexceptions:\n"
                                   "- {module: nn, reason: r, names: [silu, fft_odd]}\n"));
  EXPECT_EQ(modules.of("silu", false), "nn");
  EXPECT_EQ(modules.of("silu", true), "");
  EXPECT_EQ(modules.of("silu_", false), "");
  EXPECT_EQ(modules.of("fft_odd", false), "nn");
  EXPECT_EQ(modules.of("fft_fft", false), "fft");
  EXPECT_EQ(modules.of("fftshift", false), "");
  EXPECT_THROW(PythonModules(file("n.yaml", "prefixes: [fft]\n")), Error);
  EXPECT_THROW(PythonModules(file("o.yaml", "prefixes: []\nexceptions:\n- {module: nn, names: [a]}\n")), Error);
  EXPECT_THROW(PythonModules(file("p.yaml", "prefixes: []\nexceptions:\n- {module: nn, reason: r, names: [a, a]}\n")),
               Error);
}

TEST(YamlString, QuotesAmbiguousText) {
  EXPECT_EQ(yaml_string("const at::Tensor &"), "const at::Tensor &");
  EXPECT_EQ(yaml_string(""), "''");
  EXPECT_EQ(yaml_string("n"), "'n'");
  EXPECT_EQ(yaml_string("No"), "'No'");
  EXPECT_EQ(yaml_string("2"), "'2'");
  EXPECT_EQ(yaml_string("a: b"), "'a: b'");
  EXPECT_EQ(yaml_string("::std::array<bool,2>"), "'::std::array<bool,2>'");
  EXPECT_EQ(yaml_string("'x'"), "'''x'''");
}

}  // namespace
}  // namespace codegen
