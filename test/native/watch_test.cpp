// The watch behind torch.TensorLogger and LIBTORCH_NODE_DEBUG, alone and in the slot table.
#include "native/handles/watch.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "native/audit/audit.h"
#include "native/handles/slot_table.h"
#include "test/native/support/ledger.h"

namespace ltn::handles {
namespace {

at::Tensor floats(int64_t count) { return at::empty({count}); }

TEST(Watch, RemembersTheLastEndsOnly) {
  Watch watch(1);
  watch.configure(true, 0, true);
  const uint64_t count = Watch::kMaxDeaths + 5;
  for (uint64_t i = 1; i <= count; ++i) {
    watch.announce(Watch::Cause::Dispose, static_cast<uint32_t>(i));
    watch.freed(i, 0);
  }
  for (uint64_t i = 1; i <= 5; ++i) EXPECT_EQ(watch.death(i), nullptr);
  ASSERT_NE(watch.death(6), nullptr);
  EXPECT_EQ(watch.death(6)->freed_at, 6u);
  EXPECT_EQ(watch.death(count)->cause, Watch::Cause::Dispose);
}

TEST(Watch, RemembersSoManySitesOnly) {
  Watch watch(1);
  for (size_t i = 0; i < Watch::kMaxSites; ++i) EXPECT_EQ(watch.define_site(std::to_string(i)), i + 1);
  EXPECT_EQ(watch.define_site("one more"), 0u);
  EXPECT_EQ(watch.site(3), "2");
  EXPECT_EQ(watch.site(0), "");
  EXPECT_EQ(watch.site(Watch::kMaxSites + 1), "");
}

TEST(Watch, ForgetsItsSitesWithoutListeners) {
  Watch watch(1);
  watch.configure(true, 0, false);
  EXPECT_EQ(watch.define_site("first"), 1u);
  watch.configure(false, 0, false);
  EXPECT_EQ(watch.site(1), "");
  EXPECT_EQ(watch.define_site("another"), 1u);
  // But not births that ends refer to.
  watch.configure(true, 0, true);
  watch.announce(Watch::Cause::Dispose, 1);
  watch.freed(7, 0);
  watch.configure(false, 0, false);
  EXPECT_EQ(watch.site(watch.death(7)->freed_at), "another");
}

TEST(Watch, BelongsToOneGenerationOfASlot) {
  accounting::ExternalMemory external(&ignore_report, nullptr);
  Flags flags;
  SlotTable table(1, external, flags);
  const Handle before = table.create(floats(1));
  EXPECT_FALSE(audit::enabled());
  table.configure_watch(true, 0, true);
  EXPECT_TRUE(audit::enabled());
  EXPECT_EQ(table.watch()->birth(before, SlotTable::index_of(before)), nullptr);

  const Handle first = table.create(floats(1));
  EXPECT_EQ(flags.audit_pending, 1u);
  table.watch()->tag_waiting(7);
  EXPECT_EQ(table.watch()->waiting(), 0u);
  table.watch()->announce(Watch::Cause::Scope, 8);
  table.free(first);
  table.watch()->announce(Watch::Cause::Collector, 0);
  const Handle second = table.create(floats(1));
  ASSERT_EQ(SlotTable::index_of(first), SlotTable::index_of(second));
  EXPECT_EQ(table.watch()->birth(first, SlotTable::index_of(first)), nullptr);
  ASSERT_NE(table.watch()->birth(second, SlotTable::index_of(second)), nullptr);
  ASSERT_NE(table.watch()->death(first), nullptr);
  EXPECT_EQ(table.watch()->death(first)->born_at, 7u);
  EXPECT_EQ(table.watch()->death(first)->freed_at, 8u);
  EXPECT_EQ(table.watch()->death(first)->cause, Watch::Cause::Scope);
  EXPECT_EQ(table.watch()->death(second), nullptr);

  table.configure_watch(false, 0, false);
  EXPECT_FALSE(audit::enabled());
  flags.audit_pending = 0;
  table.free(table.create(floats(1)));
  table.free(second);
  EXPECT_EQ(flags.audit_pending, 0u);
}

TEST(Watch, AnEndedTableIsUnsubscribed) {
  accounting::ExternalMemory external(&ignore_report, nullptr);
  Flags flags;
  {
    SlotTable table(2, external, flags);
    table.configure_watch(true, 1 << 20, false);
    table.create(floats(3));
    EXPECT_TRUE(audit::enabled());
  }
  EXPECT_FALSE(audit::enabled());
}

TEST(Watch, SamplesByBytes) {
  Watch watch(0x9e3779b97f4a7c15u);  // a small seed would begin with small numbers
  watch.configure(true, 1 << 16, false);
  for (uint32_t i = 0; i < 10'000; ++i) watch.born(i + 1, i, 0);  // 64 each: about 10 of them
  EXPECT_GT(watch.waiting(), 0u);
  EXPECT_LT(watch.waiting(), 100u);
  const uint32_t small = watch.waiting();
  for (uint32_t i = 0; i < 10; ++i) watch.born(20'000 + i, 20'000 + i, 1 << 16);
  EXPECT_EQ(watch.waiting(), small + 10);
}

TEST(SlotTable, ForEachSeesEveryLiveTensorOnce) {
  accounting::ExternalMemory external(&ignore_report, nullptr);
  Flags flags;
  SlotTable table(3, external, flags);
  const Handle kept = table.create(floats(4));
  table.free(table.create(floats(5)));
  const Handle view = table.create(table.find(kept)->view({2, 2}));
  std::vector<Handle> seen;
  uint64_t id = 0;
  table.for_each([&](Handle handle, const TensorFacts& facts, accounting::StorageEntry* const* entries, size_t count) {
    seen.push_back(handle);
    EXPECT_EQ(facts.dtype, at::kFloat);
    int64_t elements = 1;
    for (const int64_t size : facts.sizes) elements *= size;
    EXPECT_EQ(elements, 4);
    ASSERT_EQ(count, 1u);
    if (id == 0) id = entries[0]->id;
    EXPECT_EQ(entries[0]->id, id);
    EXPECT_EQ(entries[0]->bytes, 16u);
  });
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen == (std::vector<Handle>{kept, view}) || seen == (std::vector<Handle>{view, kept}));
}

}  // namespace
}  // namespace ltn::handles
