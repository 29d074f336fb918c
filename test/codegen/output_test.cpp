#include "codegen/common/output.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "codegen/common/diagnostics.h"

namespace codegen {
namespace {

namespace fs = std::filesystem;

// A fresh folder per test, removed afterwards.
class WriteIfChanged : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("codegen_output_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(WriteIfChanged, CreatesFoldersAndLeavesNoTemporaryFile) {
  const fs::path path = folder_ / "a" / "b" / "c.txt";
  EXPECT_TRUE(write_if_changed(path, "one\n"));
  EXPECT_EQ(read_text(path), "one\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), fs::directory_iterator()), 1);
}

TEST_F(WriteIfChanged, LeavesAnUnchangedFileAlone) {
  const fs::path path = folder_ / "c.txt";
  write_if_changed(path, "one\n");
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(path, old);
  EXPECT_FALSE(write_if_changed(path, "one\n"));
  EXPECT_EQ(fs::last_write_time(path), old);
  // Same size, different text: a comparison by size alone would miss it.
  EXPECT_TRUE(write_if_changed(path, "two\n"));
  EXPECT_NE(fs::last_write_time(path), old);
  EXPECT_EQ(read_text(path), "two\n");
}

TEST_F(WriteIfChanged, SaysWhenItCannotWrite) {
  write_if_changed(folder_ / "file", "");
  EXPECT_THROW(write_if_changed(folder_ / "file" / "below.txt", "x"), Error);
}

TEST(Diagnostics, AreWordedTheSameEverywhere) {
  EXPECT_STREQ(Error("a.yaml", 3, "bad", "good").what(), "a.yaml:3: error: bad, expected good");
  EXPECT_STREQ(Error("a.yaml", 0, "bad").what(), "a.yaml: error: bad");
}

}  // namespace
}  // namespace codegen
