// Defaults: the schema's text -> torchgen's C++ and YAML text -> the typed literal.
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "codegen/bindings/input/load_default.h"
#include "codegen/common/numbers.h"
#include "codegen/declarations/defaults.h"

namespace codegen {
namespace {

Type simple(Base base) {
  Type type;
  type.base = base;
  return type;
}

Type nullable(Base base) {
  Type type = simple(base);
  type.nullable = true;
  return type;
}

Type list(Base base, int size = 0) {
  Type type = simple(base);
  type.list = true;
  type.size = size;
  return type;
}

TEST(FloatText, IsPythonsRepr) {
  EXPECT_EQ(float_text(0.0), "0.0");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(1.0), "1.0");
  EXPECT_EQ(float_text(-100.0), "-100.0");
  EXPECT_EQ(float_text(0.1), "0.1");
  EXPECT_EQ(float_text(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(float_text(123.456), "123.456");
  EXPECT_EQ(float_text(1e-4), "0.0001");
  EXPECT_EQ(float_text(1e-5), "1e-05");
  EXPECT_EQ(float_text(1.5e-15), "1.5e-15");
  EXPECT_EQ(float_text(1e15), "1000000000000000.0");
  EXPECT_EQ(float_text(1e16), "1e+16");
  EXPECT_EQ(float_text(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(float_text(std::numeric_limits<double>::infinity()), "inf");
}

TEST(CppDefault, IsTorchgens) {
  const Spelling c10;
  EXPECT_EQ(cpp_default("None", nullable(Base::Tensor), c10), "{}");
  EXPECT_EQ(cpp_default("None", nullable(Base::Int), c10), "c10::nullopt");
  EXPECT_EQ(cpp_default("Mean", simple(Base::Int), c10), "at::Reduction::Mean");
  EXPECT_EQ(cpp_default("long", nullable(Base::Dtype), c10), "at::kLong");
  EXPECT_EQ(cpp_default("contiguous_format", simple(Base::MemoryFormat), c10), "MemoryFormat::Contiguous");
  EXPECT_EQ(cpp_default("[-2,-1]", list(Base::Int), c10), "{-2,-1}");
  EXPECT_EQ(cpp_default("[]", list(Base::Int, 2), c10), "{}");
  EXPECT_EQ(cpp_default("1", list(Base::Int, 2), c10), "1");
  EXPECT_EQ(cpp_default("'re\"fl\\'ect'", simple(Base::Str), c10), "\"re\\\"fl'ect\"");
  EXPECT_EQ(cpp_default("\"valid\"", simple(Base::Str), c10), "\"valid\"");
  EXPECT_THROW(cpp_default("1", list(Base::Int), c10), std::invalid_argument);

  Spelling newer;
  newer.nullopt = "::std::nullopt";
  EXPECT_EQ(cpp_default("None", nullable(Base::Int), newer), "::std::nullopt");
}

TEST(YamlDefault, KeepsNumbersPlainAndTextsQuoted) {
  EXPECT_EQ(yaml_default("true"), "true");
  EXPECT_EQ(yaml_default("-100"), "-100");
  EXPECT_EQ(yaml_default("1."), "1.0");
  EXPECT_EQ(yaml_default("1e-5"), "1.0e-05");
  EXPECT_EQ(yaml_default("0.3333333333333333"), "0.3333333333333333");
  EXPECT_EQ(yaml_default("{}"), "'{}'");
  EXPECT_EQ(yaml_default("\"2\""), "'\"2\"'");
  EXPECT_EQ(yaml_default("c10::nullopt"), "c10::nullopt");
}

TEST(ParseDefault, ReadsEveryKind) {
  EXPECT_EQ(parse_default("c10::nullopt", nullable(Base::Int)).kind, Default::Kind::None);
  EXPECT_EQ(parse_default("::std::nullopt", nullable(Base::Int)).kind, Default::Kind::None);
  EXPECT_EQ(parse_default("{}", nullable(Base::Tensor)).kind, Default::Kind::None);
  EXPECT_TRUE(parse_default("true", simple(Base::Bool)).boolean);
  EXPECT_EQ(parse_default("-100", simple(Base::Int)).integer, -100);
  EXPECT_EQ(parse_default("at::Reduction::Mean", simple(Base::Int)).integer, 1);
  EXPECT_EQ(parse_default("1.0e-05", simple(Base::Float)).text, "1e-05");
  EXPECT_EQ(parse_default("2", simple(Base::Float)).kind, Default::Kind::Float);
  EXPECT_EQ(parse_default("2", simple(Base::Scalar)).kind, Default::Kind::Int);
  EXPECT_EQ(parse_default("0.5", simple(Base::Scalar)).kind, Default::Kind::Float);
  EXPECT_EQ(parse_default("\"\\\"'\\\\\"", simple(Base::Str)).text, "\"'\\");
  EXPECT_EQ(parse_default("at::kLong", nullable(Base::Dtype)).text, "int64");
  EXPECT_EQ(parse_default("c10::MemoryFormat::Contiguous", nullable(Base::MemoryFormat)).text, "contiguous");
}

TEST(ParseDefault, RepeatsOneNumberForASizedList) {
  EXPECT_EQ(parse_default("1", list(Base::Int, 3)).integers, (std::vector<long long>{1, 1, 1}));
  EXPECT_EQ(parse_default("{0,1}", list(Base::Int, 2)).integers, (std::vector<long long>{0, 1}));
  EXPECT_TRUE(parse_default("{}", list(Base::Int)).integers.empty());
  EXPECT_THROW(parse_default("1", list(Base::Int)), std::invalid_argument);
}

TEST(ParseDefault, RefusesTextThatDoesNotFitTheType) {
  EXPECT_THROW(parse_default("1", simple(Base::Bool)), std::invalid_argument);
  EXPECT_THROW(parse_default("1.5", simple(Base::Int)), std::invalid_argument);
  EXPECT_THROW(parse_default("99999999999999999999", simple(Base::Int)), std::invalid_argument);
  EXPECT_THROW(parse_default("valid", simple(Base::Str)), std::invalid_argument);
  EXPECT_THROW(parse_default("\"open\\\"", simple(Base::Str)), std::invalid_argument);
  EXPECT_THROW(parse_default("{1,x}", list(Base::Int)), std::invalid_argument);
  EXPECT_THROW(parse_default("at::kQuaternion", simple(Base::Dtype)), std::invalid_argument);
  EXPECT_THROW(parse_default("c10::nullopt", simple(Base::Int)), std::invalid_argument);
  EXPECT_THROW(parse_default("1", simple(Base::Device)), std::invalid_argument);
}

}  // namespace
}  // namespace codegen
