#include "codegen/bindings/spec/parse_function.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "codegen/bindings/text/js_text.h"
#include "codegen/model/type_table.h"

namespace codegen {
namespace {

TEST(SchemaText, ReadsTypesDefaultsAndReturns) {
  const Declaration pool = parse_function(
      "max_pool2d(Tensor input, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, float p=1e-05, str mode='a "
      "b', "
      "int[] dims=[], *, True return_indices, Tensor? out=None) -> (Tensor output, Tensor)");
  EXPECT_EQ(pool.name, "max_pool2d");
  EXPECT_EQ(signature_code(pool),
            "input T|kernel_size I[2]|stride I[2]? null|padding I[2] [0,0]|p F 1e-05|mode s \"a b\"|dims I[] []|"
            "*return_indices Y|*out T? null=>T output|T");
  EXPECT_TRUE(pool.arguments[7].kwarg_only);
  EXPECT_EQ(schema_type(pool.arguments[2].type), "int[2]?");
}

TEST(SchemaText, ReadsTheRestOfTheArguments) {
  const Declaration einsum = parse_function("einsum(str equation, Tensor... operands) -> Tensor");
  EXPECT_TRUE(einsum.arguments[1].variadic);
  EXPECT_TRUE(einsum.arguments[1].type.list);
  EXPECT_EQ(signature_code(einsum), "equation s|~operands T[]=>T");
  EXPECT_EQ(signature_code(parse_function("f(int?[2] size) -> ()")), "size I?[2]=>");
}

TEST(SchemaText, NamesTheExpectation) {
  EXPECT_THROW(parse_function("no parentheses"), std::invalid_argument);
  EXPECT_THROW(parse_function("f(Quaternion q) -> Tensor"), std::invalid_argument);
  EXPECT_THROW(parse_function("f(int[x] q) -> Tensor"), std::invalid_argument);
  EXPECT_THROW(parse_function("f(Tensor) -> Tensor"), std::invalid_argument);
  EXPECT_THROW(parse_function("f(int n=many) -> Tensor"), std::invalid_argument);
}

}  // namespace
}  // namespace codegen
