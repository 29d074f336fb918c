// Given ledgers of several releases, when an overload is looked up, then the first release that has it is named.
#include "codegen/bindings/plan/history.h"

#include <gtest/gtest.h>

#include "codegen/common/output.h"

namespace codegen {
namespace {

Declaration named(const std::string& name, const std::string& overload = "") {
  Declaration declaration;
  declaration.name = name;
  declaration.overload = overload;
  return declaration;
}

TEST(History, NamesTheFirstReleaseThatHasTheOverload) {
  History history;
  history.add("2.14", {"add.Tensor", "fresh"});
  history.add("1.13", {"add.Tensor", "add.Scalar"});
  history.add("2.6", {"add.Tensor", "between", "fresh"});
  EXPECT_EQ(history.since(named("add", "Tensor"), "2.6"), "libtorch 1.13 or before");
  EXPECT_EQ(history.since(named("fresh"), "2.6"), "libtorch 2.6, not in 1.13");
  EXPECT_EQ(history.since(named("between"), "2.6"), "libtorch 2.6, not in 1.13; removed in 2.14");
  EXPECT_EQ(history.since(named("add", "Scalar"), "1.13"), "libtorch 1.13 or before; removed in 2.6");
}

TEST(History, TheLibtorchAtHandHasItsOverloads) {
  History history;
  EXPECT_EQ(history.since(named("add"), "2.6"), "");
  history.add("2.6", {});
  EXPECT_EQ(history.since(named("add"), "2.6"), "");
  history.add("1.13", {});
  EXPECT_EQ(history.since(named("add"), "2.6"), "libtorch 2.6, not in 1.13");
  EXPECT_EQ(history.since(named("add"), "2.9"), "libtorch 2.9, not in 2.6");
}

TEST(History, ReadsLedgers) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "history";
  std::filesystem::create_directories(folder);
  write_if_changed(folder / "libtorch-1.13.tsv",
                   "# a head\naten::add(Tensor self) -> Tensor\tgenerated\ttorch.add\t\n");
  write_if_changed(folder / "libtorch-2.6.tsv", "aten::add(Tensor self) -> Tensor\naten::mul.out(Tensor self) -> ()\n");
  write_if_changed(folder / "README.md", "aten::no(ledger)\n");
  const History history = History::load(folder);
  EXPECT_EQ(history.since(named("add"), "2.6"), "libtorch 1.13 or before");
  EXPECT_EQ(history.since(named("mul", "out"), "2.6"), "libtorch 2.6, not in 1.13");
  EXPECT_EQ(History::load(folder / "missing").since(named("add"), "2.6"), "");
}

}  // namespace
}  // namespace codegen
