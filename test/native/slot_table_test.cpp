// Handles, generations, scopes and the finalizers' queue: each tensor is freed exactly once.
#include "native/handles/slot_table.h"

#include <ATen/ops/eye.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "native/accounting/cpu_allocator.h"
#include "test/native/support/ledger.h"

namespace ltn::handles {

// The way to a slot's last generation that does not take 2^27 rounds.
struct SlotTablePeek {
  static void set_generation(SlotTable& table, Handle index, uint32_t generation) {
    table.at(static_cast<uint32_t>(index)).generation = generation;
  }
};

namespace {

using accounting::ExternalMemory;

// Like the addon: with its allocator installed, and each op's arguments read by use() and settled after it.
class SlotTableTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { accounting::install_counting_cpu_allocator(); }
  template <class Op>
  auto run(Op op) {
    auto result = op();
    table.settle_used();
    return result;
  }
  at::Tensor floats(int64_t count) { return at::zeros({count}, at::kFloat); }
  Handle make(int64_t count = 4) { return table.create(floats(count)); }
  int64_t told() {
    external.flush();
    return external.reported();
  }

  int64_t reported = 0;
  ExternalMemory external{&sum_reports, &reported};
  Flags flags;
  SlotTable table{1, external, flags};
};

TEST_F(SlotTableTest, AHandleFindsItsTensorUntilItIsFreed) {
  const Handle handle = make(3);
  ASSERT_NE(handle, 0u);
  ASSERT_NE(table.find(handle), nullptr);
  EXPECT_EQ(table.find(handle)->numel(), 3);
  EXPECT_EQ(table.live(), 1u);
  EXPECT_TRUE(table.free(handle));
  EXPECT_EQ(table.find(handle), nullptr);
  EXPECT_FALSE(table.free(handle));
  EXPECT_EQ(table.live(), 0u);
}

TEST_F(SlotTableTest, AnUndefinedTensorTakesNoSlot) {
  EXPECT_EQ(table.create(at::Tensor()), 0u);
  EXPECT_EQ(table.live(), 0u);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_FALSE(table.free(0));
}

TEST_F(SlotTableTest, AStaleHandleDoesNotReachTheSlotsNextTensor) {
  const Handle old = make();
  table.free(old);
  const Handle fresh = make();
  constexpr Handle kIndexMask = (Handle{1} << kIndexBits) - 1;
  ASSERT_EQ(old & kIndexMask, fresh & kIndexMask) << "the slot is taken again";
  EXPECT_NE(old, fresh);
  EXPECT_EQ(table.find(old), nullptr);
  EXPECT_FALSE(table.free(old));
  table.free_from_finalizer(old);
  EXPECT_FALSE(table.move(old, 0));
  EXPECT_EQ(table.scope_of(old), 0u);
  EXPECT_NE(table.find(fresh), nullptr);
}

TEST_F(SlotTableTest, HandlesThatNeverExistedAreRefused) {
  make();
  for (const Handle handle : {Handle{1}, Handle{5}, (Handle{7} << kIndexBits), ~Handle{0} >> 11}) {
    EXPECT_EQ(table.find(handle), nullptr);
    EXPECT_FALSE(table.free(handle));
  }
}

TEST_F(SlotTableTest, AHandleIsExactInADouble) {
  Handle last = 0;
  for (int i = 0; i < 5000; ++i) {
    last = make(1);
    ASSERT_EQ(static_cast<Handle>(static_cast<double>(last)), last);
  }
  EXPECT_LT(last, Handle{1} << 53);
  EXPECT_EQ(kIndexBits + kGenerationBits, 53);
}

TEST_F(SlotTableTest, ReferencesStayGoodWhileTheTableGrows) {
  const Handle first = make(7);
  const at::Tensor* tensor = table.find(first);
  for (int i = 0; i < 20000; ++i) make(1);
  EXPECT_EQ(table.find(first), tensor);
  EXPECT_EQ(tensor->numel(), 7);
  EXPECT_EQ(table.live(), 20001u);
}

TEST_F(SlotTableTest, ASlotIsRetiredAfterItsLastGeneration) {
  constexpr Handle kIndexMask = (Handle{1} << kIndexBits) - 1;
  constexpr uint32_t kLast = (uint32_t{1} << kGenerationBits) - 1;
  const Handle index = make() & kIndexMask;
  SlotTablePeek::set_generation(table, index, kLast - 1);
  EXPECT_TRUE(table.free((Handle{kLast - 1} << kIndexBits) | index));
  const Handle last = make();
  ASSERT_EQ(last, (Handle{kLast} << kIndexBits) | index) << "its last tensor";
  EXPECT_EQ(static_cast<Handle>(static_cast<double>(last)), last);
  EXPECT_TRUE(table.free(last));
  for (int i = 0; i < 10; ++i) EXPECT_NE(make() & kIndexMask, index);
  EXPECT_EQ(table.find(last), nullptr);
  EXPECT_FALSE(table.free(last));
}

TEST_F(SlotTableTest, AFinalizerFreesAtOnceOrAfterTheOpInProgress) {
  const Handle free_now = make();
  table.free_from_finalizer(free_now);
  EXPECT_EQ(table.find(free_now), nullptr);

  const Handle waits = make();
  {
    const SlotTable::Busy outer(table);
    {
      const SlotTable::Busy inner(table);
      table.free_from_finalizer(waits);
      EXPECT_NE(table.find(waits), nullptr);
    }
    EXPECT_NE(table.find(waits), nullptr) << "the outer op is still in progress";
  }
  EXPECT_EQ(table.find(waits), nullptr);
  EXPECT_EQ(table.live(), 0u);
}

TEST_F(SlotTableTest, AQueuedHandleThatWasDisposedMeanwhileIsLeftAlone) {
  const Handle handle = make();
  Handle fresh = 0;
  {
    const SlotTable::Busy busy(table);
    table.free_from_finalizer(handle);
    table.free(handle);
    fresh = make(9);  // takes the same slot
  }
  ASSERT_NE(table.find(fresh), nullptr);
  EXPECT_EQ(table.find(fresh)->numel(), 9);
}

TEST_F(SlotTableTest, BytesAreChargedOncePerStorageAndRefundedExactly) {
  const uint64_t before = ledger_bytes();
  const Handle base = make(256);
  EXPECT_EQ(ledger_bytes() - before, 1024u);
  EXPECT_EQ(told(), 1024);
  const Handle view = run([&] { return table.create(table.use(base)->slice(0, 0, 8)); });
  const Handle wide = run([&] { return table.create(table.use(view)->view({8, 1}).expand({8, 100})); });
  EXPECT_EQ(ledger_bytes() - before, 1024u);
  table.free(base);
  EXPECT_EQ(ledger_bytes() - before, 1024u) << "the views keep the storage";
  table.free(view);
  table.free(wide);
  EXPECT_EQ(ledger_bytes(), before);
  EXPECT_EQ(told(), 0);
}

TEST_F(SlotTableTest, ReconcileTakesUpAResize) {
  const uint64_t before = ledger_bytes();
  const Handle handle = make(4);
  const Handle view = run([&] { return table.create(table.use(handle)->slice(0, 0, 2)); });
  run([&] { return table.use(handle)->resize_({1024}); });
  table.reconcile(handle);
  EXPECT_EQ(ledger_bytes() - before, 4096u);
  EXPECT_EQ(told(), 4096);
  table.reconcile(handle);
  table.reconcile(view);
  EXPECT_EQ(told(), 4096) << "nothing changed since";
  table.free(handle);
  EXPECT_EQ(told(), 4096);
  table.free(view);
  EXPECT_EQ(told(), 0);
}

TEST_F(SlotTableTest, ReconcileMovesTheChargeOfSetToTheNewStorage) {
  const uint64_t before = ledger_bytes();
  const Handle a = make(4);
  const Handle b = make(100);
  run([&] { return table.use(a)->set_(*table.use(b)); });
  table.reconcile(a);
  EXPECT_EQ(ledger_bytes() - before, 400u);
  table.free(b);
  EXPECT_EQ(ledger_bytes() - before, 400u);
  table.free(a);
  EXPECT_EQ(ledger_bytes(), before);
  EXPECT_EQ(told(), 0);
}

TEST_F(SlotTableTest, ReconcileFindsOtherHandlesOnTheSameTensor) {
  const uint64_t before = ledger_bytes();
  const Handle a = make(4);
  const Handle same = run([&] { return table.create(at::Tensor(*table.use(a))); });
  const Handle other = make(100);
  run([&] { return table.use(a)->set_(*table.use(other)); });
  table.reconcile(a);
  EXPECT_EQ(ledger_bytes() - before, 400u) << "nobody sees the first storage any more";
  for (const Handle handle : {a, same, other}) table.free(handle);
  EXPECT_EQ(ledger_bytes(), before);
  EXPECT_EQ(told(), 0);
}

TEST_F(SlotTableTest, ASparseTensorIsOneTensorWithTwoStorages) {
  const accounting::LedgerTotals before = accounting::ledger_totals();
  const Handle handle = table.create(at::eye(4).to_sparse());
  const accounting::LedgerTotals held = accounting::ledger_totals();
  EXPECT_EQ(held.tensors - before.tensors, 1u);
  EXPECT_EQ(held.storages - before.storages, 2u);
  EXPECT_EQ(held.bytes - before.bytes, 2 * 4 * 8u + 4 * 4u);
  EXPECT_EQ(told(), 80);
  const Handle values = run([&] { return table.create(table.use(handle)->_values()); });
  table.free(handle);
  EXPECT_EQ(accounting::ledger_totals().tensors - before.tensors, 1u);
  EXPECT_EQ(accounting::ledger_totals().bytes - before.bytes, 16u);
  table.free(values);
  EXPECT_EQ(ledger_tensors(), before.tensors);
  EXPECT_EQ(told(), 0);
}

TEST_F(SlotTableTest, ReconcileOfAFreedHandleDoesNothing) {
  const Handle handle = make();
  table.free(handle);
  table.reconcile(handle);
  EXPECT_EQ(told(), 0);
}

TEST(SlotTableEnd, TheDestructorFreesEverything) {
  const uint64_t bytes = ledger_bytes();
  const uint64_t tensors = ledger_tensors();
  int64_t reported = 0;
  ExternalMemory external(&sum_reports, &reported);
  const at::Tensor outside = at::zeros({8});
  {
    Flags flags;
    SlotTable table(1, external, flags);
    table.create(at::zeros({100}));
    table.open_scope();
    table.create(at::Tensor(outside));
    for (int i = 0; i < 10000; ++i) table.create(at::zeros({1}));
    EXPECT_EQ(outside.use_count(), 2u);
  }
  EXPECT_EQ(outside.use_count(), 1u);
  EXPECT_EQ(ledger_bytes(), bytes);
  EXPECT_EQ(ledger_tensors(), tensors);
  external.flush();
  EXPECT_EQ(reported, 0);
}

}  // namespace
}  // namespace ltn::handles
