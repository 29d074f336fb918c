#include "codegen/common/template.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace codegen {
namespace {

TEST(Template, FillsEachPlaceholder) {
  EXPECT_EQ(fill("${a} + ${b} = ${a}", {{"a", "1"}, {"b", "${a}"}}), "1 + ${a} = 1");
  EXPECT_EQ(fill("\n  line\n", {}), "  line\n");
  EXPECT_EQ(fill("$a {a}", {}), "$a {a}");
}

TEST(Template, ThrowsForAMissingAndForAnUnusedValue) {
  EXPECT_THROW(fill("${a}", {}), std::logic_error);
  EXPECT_THROW(fill("a", {{"a", "1"}}), std::logic_error);
  EXPECT_THROW(fill("${a", {{"a", "1"}}), std::logic_error);
}

}  // namespace
}  // namespace codegen
