// ObjectTable: handles that are exact in a JS number, for as long as the process runs.
#include "native/handles/object_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace ltn {

// Sets a slot's generation to the last one without 2^27 rounds.
struct ObjectTablePeek {
  template <class T>
  static void set_generation(ObjectTable<T>& table, uint64_t index, uint64_t generation) {
    table.slots_[index].generation = generation;
  }
};

namespace {

constexpr int kIndexBits = 26;
constexpr uint64_t kLast = (uint64_t{1} << 27) - 1;

TEST(ObjectTable, AHandleFindsItsObjectUntilItIsFreed) {
  ObjectTable<std::string> table;
  const uint64_t first = table.create("first");
  ASSERT_NE(table.find(first), nullptr);
  EXPECT_EQ(*table.find(first), "first");
  EXPECT_TRUE(table.free(first));
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_FALSE(table.free(first));
  const uint64_t second = table.create("second");
  EXPECT_NE(second, first) << "the same slot, another generation";
  EXPECT_EQ(table.find(first), nullptr);
}

TEST(ObjectTable, ASlotIsRetiredAfterItsLastGeneration) {
  ObjectTable<std::string> table;
  table.create("first");
  ObjectTablePeek::set_generation(table, 0, kLast - 1);
  EXPECT_TRUE(table.free((kLast - 1) << kIndexBits));
  const uint64_t last = table.create("last");
  ASSERT_EQ(last, kLast << kIndexBits);
  EXPECT_EQ(static_cast<uint64_t>(static_cast<double>(last)), last);
  EXPECT_TRUE(table.free(last));
  EXPECT_EQ(table.find(last), nullptr);
  for (int i = 0; i < 10; ++i) {
    const uint64_t handle = table.create("more");
    EXPECT_LT(handle, uint64_t{1} << 53);
    EXPECT_NE(handle & ((uint64_t{1} << kIndexBits) - 1), 0u) << "the index of the retired slot";
  }
  EXPECT_EQ(table.find(last), nullptr);
}

}  // namespace
}  // namespace ltn
