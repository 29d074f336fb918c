// A failed allocation while a handle is made or recharged does not leak, at whichever allocation.
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "native/accounting/cpu_allocator.h"
#include "native/handles/slot_table.h"
#include "test/native/support/allocations.h"
#include "test/native/support/ledger.h"

namespace ltn {

thread_local int64_t thread_allocations_left = -1;

}  // namespace ltn

namespace {

void* counted_new(size_t bytes) {
  if (ltn::thread_allocations_left == 0) throw std::bad_alloc();
  if (ltn::thread_allocations_left > 0) --ltn::thread_allocations_left;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return counted_new(bytes); }
void* operator new[](size_t bytes) { return counted_new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace ltn::handles {
namespace {

class ChargeFailure : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { accounting::install_counting_cpu_allocator(); }
  int64_t told() {
    external.flush();
    return external.reported();
  }
  void expect_as_before() {
    const accounting::LedgerTotals now = accounting::ledger_totals();
    EXPECT_EQ(now.tensors, before.tensors);
    EXPECT_EQ(now.storages, before.storages);
    EXPECT_EQ(now.bytes, before.bytes);
    EXPECT_EQ(table.live(), live_before);
  }
  // Lets the first, second, … allocation of `act` fail until `act` succeeds; `check` runs after each failure.
  template <class Act, class Check>
  int failures_of(Act act, Check check) {
    for (int failures = 0;; ++failures) {
      thread_allocations_left = failures;
      try {
        act();
        thread_allocations_left = -1;
        return failures;
      } catch (const std::bad_alloc&) {  // what this test provokes
        thread_allocations_left = -1;
        check();
      }
    }
  }

  accounting::ExternalMemory external{&ignore_report, nullptr};
  Flags flags;
  SlotTable table{1, external, flags};
  accounting::LedgerTotals before = accounting::ledger_totals();
  size_t live_before = 0;
};

TEST_F(ChargeFailure, AHandleThatCannotBeMadeDoesNotLeak) {
  for (const bool sparse : {false, true}) {
    // Many, so that the ledger's tables and pools grow on the way; all live, so that nothing is reused.
    std::vector<at::Tensor> tensors;
    for (int i = 0; i < 300; ++i) tensors.push_back(sparse ? at::eye(3).to_sparse() : at::zeros({5}));
    std::vector<Handle> handles;
    handles.reserve(tensors.size());
    const int64_t told_before = told();
    int failures = 0;
    for (const at::Tensor& tensor : tensors) {
      before = accounting::ledger_totals();
      live_before = table.live();
      const int64_t told_now = told();
      failures += failures_of([&] { handles.push_back(table.create(at::Tensor(tensor))); },
                              [&] {
                                expect_as_before();
                                EXPECT_EQ(told(), told_now);
                                EXPECT_EQ(tensor.use_count(), 1u) << "the slot let go of it";
                              });
    }
    EXPECT_GT(failures, 0) << "some allocation was made, and failed";
    for (const Handle handle : handles) EXPECT_TRUE(table.free(handle));
    EXPECT_EQ(told(), told_before);
  }
}

TEST_F(ChargeFailure, AStorageThatCannotBeTakenUpLeavesTheOldCharge) {
  const Handle handle = table.create(at::eye(3).to_sparse());
  const int64_t told_before = told();
  int failures = 0;
  for (int i = 0; i < 100; ++i) {
    table.use(handle)->mul_(2);  // the next reconcile recharges both storages
    table.settle_used();
    before = accounting::ledger_totals();
    live_before = table.live();
    failures += failures_of([&] { table.reconcile(handle); }, [&] { expect_as_before(); });
    EXPECT_EQ(told(), told_before);
  }
  EXPECT_GT(failures, 0);
  EXPECT_TRUE(table.free(handle));
  EXPECT_EQ(told(), 0);
}

TEST_F(ChargeFailure, AStorageResizedElsewhereIsTakenUpByTheNextHandle) {
  at::Tensor tensor = at::zeros({4});
  const Handle first = table.create(at::Tensor(tensor));
  tensor.resize_({100});  // no handle was an argument
  const Handle second = table.create(tensor.slice(0, 0, 2));
  EXPECT_EQ(accounting::ledger_totals().bytes - before.bytes, 400u);
  EXPECT_EQ(told(), 400);
  table.free(first);
  table.free(second);
  EXPECT_EQ(told(), 0);
}

TEST_F(ChargeFailure, ASetThatEnlargesItsSourceIsChargedInFull) {
  const Handle small = table.create(at::zeros({4}));
  const Handle source = table.create(at::zeros({10}));
  table.use(small)->set_(table.use(source)->storage(), 0, {1000}, {1});
  table.settle_used();
  table.reconcile(small);
  EXPECT_EQ(accounting::ledger_totals().bytes - before.bytes, 4000u);
  table.free(small);
  table.free(source);
  EXPECT_EQ(told(), 0);
}

TEST_F(ChargeFailure, InnerStoragesThatWereReplacedUnderneathAreTakenUp) {
  at::Tensor sparse = at::eye(3).to_sparse();
  const Handle handle = table.create(at::Tensor(sparse));
  sparse.add_(at::eye(3).to_sparse());
  table.reconcile_inner();
  EXPECT_EQ(told(), 6 * (2 * 8 + 4)) << "room for the entries of both";
  table.free(handle);
  EXPECT_EQ(told(), 0);
  const accounting::LedgerTotals now = accounting::ledger_totals();
  EXPECT_EQ(now.storages, before.storages);
}

}  // namespace
}  // namespace ltn::handles
