#include "codegen/model/type_table.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "codegen/declarations/cpp_types.h"

namespace codegen {
namespace {

std::string code(const std::string& dynamic_type, bool is_nullable = false, int size = 0) {
  return type_code(parse_type({"", dynamic_type, is_nullable, size}));
}

TEST(TypeTable, HasOneRowPerBaseInOrder) {
  std::set<char> codes;
  for (std::size_t i = 0; i < type_table().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(type_table()[i].base), i);
    EXPECT_TRUE(codes.insert(type_table()[i].code).second) << "code used twice: " << type_table()[i].code;
  }
  EXPECT_EQ(type_row(Base::SymBool).code, 'Z');
  EXPECT_EQ(type_table().size(), static_cast<std::size_t>(Base::True) + 1);
}

TEST(TypeTable, CodesFollowTheSchemaGrammar) {
  EXPECT_EQ(code("at::Tensor"), "T");
  EXPECT_EQ(code("at::Tensor", true), "T?");
  EXPECT_EQ(code("at::TensorList"), "T[]");
  EXPECT_EQ(code("const at::ITensorListRef &"), "T[]");
  EXPECT_EQ(code("const c10::List<c10::optional<at::Tensor>> &", true), "T?[]");
  EXPECT_EQ(code("const c10::List<::std::optional<at::Tensor>> &", true), "T?[]");
  EXPECT_EQ(code("const at::Scalar &", true), "S?");
  EXPECT_EQ(code("at::ArrayRef<at::Scalar>"), "S[]");
  EXPECT_EQ(code("at::IntArrayRef", false, 2), "I[2]");
  EXPECT_EQ(code("at::IntArrayRef", true), "I[]?");
  EXPECT_EQ(code("at::IntArrayRef", true, 1), "I[1]?");
  EXPECT_EQ(code("::std::array<bool,3>"), "B[3]");
  EXPECT_EQ(code("c10::string_view"), "s");
  EXPECT_EQ(code("::std::string_view", true), "s?");
  EXPECT_EQ(code("at::DimnameList", false, 1), "N[1]");
  EXPECT_EQ(code("at::ScalarType", true), "D?");
  EXPECT_EQ(code("at::DeviceIndex"), "O");
  EXPECT_EQ(code("c10::SymBool"), "Z");
}

TEST(TypeTable, RefusesUnknownTypes) {
  EXPECT_THROW(code("at::Quaternion"), std::invalid_argument);
  EXPECT_THROW(code(""), std::invalid_argument);
  EXPECT_THROW(code("::std::array<bool,x>"), std::invalid_argument);
  EXPECT_THROW(code("int64_t", false, 2), std::invalid_argument);
}

// Every type with a C++ spelling must be parsed back from it: writer and reader of Declarations.yaml share the table.
TEST(TypeTable, ReadsTheOutputOfDeclarations) {
  OperatorStyle older;
  OperatorStyle newer;
  newer.spelling = {"::std::optional", "::std::nullopt", "::std::string_view"};
  for (const OperatorStyle& style : {older, newer}) {
    for (const TypeRow& row : type_table()) {
      if (*row.cpp == '\0') continue;  // only in public functions
      for (const bool nullable : {false, true}) {
        for (const int size : {-1, 0, 4}) {
          Type type;
          type.base = row.base;
          type.nullable = nullable;
          type.list = size >= 0;
          type.size = type.list ? size : 0;
          if (type.list && (*row.cpp_list == '\0' || (row.base == Base::Bool && size == 0))) continue;
          const int written_size = row.base == Base::Bool ? 0 : type.size;
          const Type read =
              parse_type({argument_type(type, false, style), dynamic_type(type, style), nullable, written_size});
          EXPECT_EQ(schema_type(read), schema_type(type));
        }
      }
    }
  }
}

TEST(CppTypes, FollowTheOperatorsOwnSignature) {
  const Spelling spelling;
  Type tensor;
  Type maybe;
  maybe.nullable = true;
  Type tensors;
  tensors.list = true;
  const OperatorStyle plain = style_of("at::Tensor & (at::Tensor &, const at::Tensor &)", spelling);
  EXPECT_EQ(argument_type(tensor, true, plain), "at::Tensor &");
  EXPECT_EQ(argument_type(tensor, false, plain), "const at::Tensor &");
  EXPECT_EQ(argument_type(maybe, false, plain), "const c10::optional<at::Tensor> &");
  EXPECT_EQ(argument_type(tensors, false, plain), "at::TensorList");
  EXPECT_EQ(return_type(tensor, true, plain), "at::Tensor &");
  EXPECT_EQ(return_type(tensors, false, plain), "::std::vector<at::Tensor>");
  const OperatorStyle odd = style_of("const at::Tensor & (const at::Tensor &, const at::ITensorListRef &)", spelling);
  EXPECT_EQ(argument_type(tensor, true, odd), "const at::Tensor &");
  EXPECT_EQ(return_type(tensor, true, odd), "const at::Tensor &");
  EXPECT_EQ(argument_type(tensors, false, odd), "const at::ITensorListRef &");
}

}  // namespace
}  // namespace codegen
