// Tensors lent to steps: not read until they are returned, and read then.
#include "native/handles/loans.h"

#include <ATen/ops/sparse_coo_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "native/accounting/cpu_allocator.h"
#include "native/handles/holder.h"
#include "native/handles/slot_table.h"
#include "test/native/support/allocations.h"
#include "test/native/support/ledger.h"

namespace ltn::handles {
namespace {

at::Tensor sparse(int64_t elements) {
  return at::sparse_coo_tensor(at::zeros({1, elements}, at::kLong), at::zeros({elements}, at::kFloat), {100});
}
// The bytes of the two storages inside.
uint64_t sparse_bytes(int64_t elements) { return static_cast<uint64_t>(elements) * (8 + 4); }

// A step that replaces the storages inside, like add_ and zero_.
void replace(const at::Tensor& tensor, int64_t elements) { tensor.set_data(sparse(elements)); }

class LoansTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { accounting::install_counting_cpu_allocator(); }
  at::Tensor& tensor(Handle handle) { return *table.find(handle); }
  void lend(uint64_t strand, std::vector<at::Tensor> named, Reach reach = Reach::Arguments) {
    table.lend_to(strand, {std::move(named), {}, reach});
  }
  void end(uint64_t strand) {
    table.return_from(strand);
    table.reconcile_returned();
  }
  uint64_t bytes() { return ledger_bytes() - before; }
  std::vector<Handle> seen() {
    std::vector<Handle> handles;
    table.for_each([&](Handle handle, const TensorFacts&, accounting::StorageEntry* const*, size_t) {
      handles.push_back(handle);
    });
    return handles;
  }

  const uint64_t before = ledger_bytes();
  int64_t reported = 0;
  accounting::ExternalMemory external{&sum_reports, &reported};
  Flags flags;
  SlotTable table{1, external, flags};
};

TEST_F(LoansTest, WalksSkipTensorsOnLoanUntilTheStepEnds) {
  const Handle mine = table.create(sparse(2));
  const Handle free = table.create(sparse(2));
  lend(1, {tensor(mine)});
  replace(tensor(mine), 10);
  replace(tensor(free), 20);
  table.reconcile_inner();
  EXPECT_EQ(bytes(), sparse_bytes(2) + sparse_bytes(20)) << "the other one was looked at";
  table.reconcile_all();
  table.reconcile(mine);
  EXPECT_EQ(bytes(), sparse_bytes(2) + sparse_bytes(20));
  end(1);
  EXPECT_EQ(bytes(), sparse_bytes(10) + sparse_bytes(20));
  table.free(mine);
  table.free(free);
  EXPECT_EQ(bytes(), 0u);
}

TEST_F(LoansTest, ATensorThatTwoBatchesHaveIsDueAtTheEndOfTheLast) {
  const Handle mine = table.create(sparse(2));
  lend(1, {tensor(mine), tensor(mine)});
  lend(2, {tensor(mine)});
  replace(tensor(mine), 10);
  table.reconcile(mine);
  end(1);
  EXPECT_EQ(bytes(), sparse_bytes(2));
  end(2);
  EXPECT_EQ(bytes(), sparse_bytes(10));
  table.free(mine);
}

TEST_F(LoansTest, ASlotOnLoanIsFreedWithTheFigureThatWasCharged) {
  const Handle mine = table.create(sparse(2));
  const at::Tensor of_the_step = tensor(mine);
  lend(1, {of_the_step});
  replace(of_the_step, 10);
  table.reconcile_inner();
  EXPECT_TRUE(table.free(mine));
  EXPECT_EQ(bytes(), 0u);
  end(1);
  EXPECT_EQ(bytes(), 0u);
}

TEST_F(LoansTest, ASecondHandleOnATensorOnLoanIsChargedWhenItReturns) {
  const uint64_t tensors = ledger_tensors();
  const Handle first = table.create(sparse(2));
  lend(1, {tensor(first)});
  const Handle second = table.create(at::Tensor(tensor(first)));
  EXPECT_EQ(ledger_tensors() - tensors, 2u);
  table.free(first);
  EXPECT_EQ(bytes(), 0u) << "nothing is known of the second one yet";
  end(1);
  EXPECT_EQ(bytes(), sparse_bytes(2));
  EXPECT_EQ(ledger_tensors() - tensors, 1u);
  table.free(second);
  EXPECT_EQ(bytes(), 0u);
  EXPECT_EQ(ledger_tensors() - tensors, 0u);
}

TEST_F(LoansTest, HandlesOfUnknownResultsAreFoundAtTheEnd) {
  const Handle mine = table.create(at::zeros({2}, at::kFloat));
  const at::Tensor other = tensor(mine);
  table.use(mine);
  table.settle_used();  // it is shared now
  table.lend_to(1, {{}, {other}, Reach::Arguments});
  tensor(mine).set_data(at::zeros({50}, at::kFloat));
  table.return_from(1);
  table.lend_to(2, {{}, {other}, Reach::Arguments});  // before it is read
  table.reconcile_returned();
  EXPECT_EQ(bytes(), 8u) << "another batch has it";
  end(2);
  EXPECT_EQ(bytes(), 200u);
  table.free(mine);
}

TEST_F(LoansTest, TensorsReachableByABackwardWaitForItsEnd) {
  const Handle leaf = table.create(at::zeros({100}, at::kFloat));
  tensor(leaf).set_requires_grad(true);
  tensor(leaf).mutable_grad() = sparse(2);
  lend(1, {}, Reach::Gradients);
  lend(2, {}, Reach::Gradients);
  const Handle gradient = table.create(at::Tensor(tensor(leaf).grad()));
  const Handle own = table.create(sparse(3));
  EXPECT_EQ(bytes(), 400 + sparse_bytes(3)) << "its own is nobody else's";
  replace(tensor(leaf).grad(), 10);
  table.reconcile_inner();
  end(1);
  EXPECT_EQ(bytes(), 400 + sparse_bytes(3)) << "the second may come upon it";
  EXPECT_EQ(seen(), (std::vector<Handle>{leaf, own}));
  end(2);
  EXPECT_EQ(bytes(), 400 + sparse_bytes(3) + sparse_bytes(10));
  EXPECT_EQ(seen(), (std::vector<Handle>{leaf, gradient, own}));
  for (const Handle handle : {leaf, gradient, own}) table.free(handle);
  EXPECT_EQ(bytes(), 0u);
}

TEST_F(LoansTest, TensorsOfAModelWaitForItsEnd) {
  const Handle parameter = table.create(at::zeros({2}, at::kFloat));
  const Handle own = table.create(at::zeros({2}, at::kFloat));
  const at::Tensor of_the_model = tensor(parameter);
  table.use(parameter);
  table.settle_used();
  lend(1, {}, Reach::Everything);
  tensor(parameter).set_data(at::zeros({50}, at::kFloat));
  table.reconcile_all();
  EXPECT_EQ(bytes(), 16u);
  EXPECT_EQ(seen(), (std::vector<Handle>{own}));
  end(1);
  EXPECT_EQ(bytes(), 208u);
  table.free(parameter);
  table.free(own);
}

TEST_F(LoansTest, ATensorOnLoanKeepsItsKnownFigures) {
  const Handle mine = table.create(sparse(2));
  lend(1, {tensor(mine)});
  replace(tensor(mine), 10);
  bool any = false;
  table.for_each([&](Handle handle, const TensorFacts& facts, accounting::StorageEntry* const*, size_t count) {
    any = true;
    EXPECT_EQ(handle, mine);
    EXPECT_EQ(facts.dtype, at::kFloat);
    EXPECT_EQ(facts.device, c10::Device(c10::DeviceType::CPU));
    ASSERT_EQ(facts.sizes.size(), 1u);
    EXPECT_EQ(facts.sizes[0], 100);
    EXPECT_EQ(count, 2u);
  });
  EXPECT_TRUE(any);
  end(1);
  table.free(mine);
}

TEST_F(LoansTest, TheTensorsInsideASparseOneAreOnLoanWithIt) {
  const Handle mine = table.create(sparse(2));
  const Handle values = table.create(tensor(mine)._values());
  const uint64_t known = bytes();
  lend(1, {tensor(mine)});
  tensor(values).set_data(at::zeros({50}, at::kFloat));
  table.reconcile_all();
  end(1);
  EXPECT_GE(bytes(), known + 200 - 8) << "a handle on the values that the step had";
  table.free(mine);
  table.free(values);
  EXPECT_EQ(bytes(), 0u);
}

class HeldParts final : public Holder {
 public:
  explicit HeldParts(std::vector<at::Tensor> tensors) : tensors(std::move(tensors)) {
    refresh([](const at::Tensor&) { return true; });
  }
  bool refresh(const MayRead& may_read) override {
    std::vector<c10::Storage> storages;
    for (const at::Tensor& tensor : tensors) {
      if (!may_read(tensor)) return false;
      storages.push_back(tensor.storage());
    }
    put(std::move(storages));
    return true;
  }
  const std::vector<at::Tensor> tensors;
};

TEST_F(LoansTest, AModelWithAPartOnLoanIsReadLater) {
  const at::Tensor part = at::zeros({2}, at::kFloat);
  const Handle model = table.create(at::detail::make_tensor<HeldParts>(std::vector<at::Tensor>{part}));
  EXPECT_EQ(bytes(), 8u);
  lend(1, {part});
  part.set_data(at::zeros({50}, at::kFloat));
  table.reconcile_all();
  EXPECT_EQ(bytes(), 8u);
  end(1);
  EXPECT_EQ(bytes(), 200u);
  table.free(model);
}

TEST_F(LoansTest, ABatchWithoutMemoryDoesNotTakeLoans) {
  const Handle mine = table.create(sparse(2));
  for (int64_t allocations = 0;; ++allocations) {
    bool failed = false;
    Borrowed borrowed{{tensor(mine), tensor(mine)}, {tensor(mine)}, Reach::Gradients};
    thread_allocations_left = allocations;
    try {
      table.lend_to(1, borrowed);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    thread_allocations_left = -1;
    if (!failed) break;
    replace(tensor(mine), 3 + allocations);
    table.reconcile(mine);
    EXPECT_EQ(bytes(), sparse_bytes(3 + allocations)) << "it is nobody else's";
  }
  end(1);
  EXPECT_THROW(
      {
        lend(2, {});
        lend(2, {});
      },
      c10::Error);
  end(2);
  end(2);  // of a strand without loans
  table.free(mine);
}

TEST(LoansEnd, TheTableMayEndWhileABatchIsUnderWay) {
  const uint64_t before = ledger_bytes();
  int64_t reported = 0;
  at::Tensor of_the_step = sparse(2);
  {
    accounting::ExternalMemory external{&sum_reports, &reported};
    Flags flags;
    SlotTable table{1, external, flags};
    table.create(at::Tensor(of_the_step));
    table.lend_to(1, {{of_the_step}, {}, Reach::Everything});
    replace(of_the_step, 10);
  }
  EXPECT_EQ(ledger_bytes(), before);
}

}  // namespace
}  // namespace ltn::handles
