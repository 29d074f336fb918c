// Objects with storages inside, such as models: charged with their storages, and rechecked after a change.
#include "native/handles/holder.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "native/handles/slot_table.h"
#include "test/native/support/ledger.h"

namespace ltn::handles {
namespace {

using accounting::ExternalMemory;

struct Parts {
  std::vector<at::Tensor> tensors;
  bool changes_now = false;
};

class PartsHolder final : public Holder {
 public:
  explicit PartsHolder(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {
    refresh([](const at::Tensor&) { return true; });
  }
  bool refresh(const MayRead& may_read) override {
    if (parts_->changes_now) return true;
    std::vector<c10::Storage> storages;
    for (const at::Tensor& tensor : parts_->tensors) {
      if (!may_read(tensor)) return false;
      storages.push_back(tensor.storage());
    }
    put(std::move(storages));
    return true;
  }

 private:
  const std::shared_ptr<Parts> parts_;
};

class HolderTest : public ::testing::Test {
 protected:
  at::Tensor floats(int64_t count) { return at::zeros({count}, at::kFloat); }
  Handle hold() { return table.create(at::detail::make_tensor<PartsHolder>(parts)); }
  int64_t told() {
    external.flush();
    return external.reported();
  }

  std::shared_ptr<Parts> parts = std::make_shared<Parts>();
  int64_t reported = 0;
  ExternalMemory external{&sum_reports, &reported};
  Flags flags;
  SlotTable table{1, external, flags};
};

TEST_F(HolderTest, ItsBytesAreThoseOfItsStoragesAndSharedOnesCountOnce) {
  parts->tensors = {floats(10), floats(20)};
  const Handle handle = hold();
  EXPECT_EQ(ledger_bytes(), 120u);
  EXPECT_EQ(accounting::ledger_totals().tensors, 1u);
  EXPECT_EQ(told(), 120);
  const Handle part = table.create(at::Tensor(parts->tensors[0]));
  EXPECT_EQ(ledger_bytes(), 120u);
  EXPECT_TRUE(table.free(handle));
  EXPECT_EQ(ledger_bytes(), 40u);
  EXPECT_TRUE(table.free(part));
  EXPECT_EQ(told(), 0);
}

TEST_F(HolderTest, ReconcileAllFindsNewFreedAndLargerStorages) {
  parts->tensors = {floats(10)};
  const Handle handle = hold();
  const Handle part = table.create(at::Tensor(parts->tensors[0]));
  parts->tensors.push_back(floats(100));
  parts->tensors[0].resize_({30});
  table.reconcile_all();
  EXPECT_EQ(ledger_bytes(), 520u);
  parts->tensors.erase(parts->tensors.begin());
  table.reconcile_all();
  EXPECT_EQ(ledger_bytes(), 520u);  // `part` has it
  table.free(part);
  EXPECT_EQ(ledger_bytes(), 400u);
  parts->tensors.clear();
  table.reconcile_all();
  EXPECT_EQ(ledger_bytes(), 0u);
  table.free(handle);
  EXPECT_EQ(told(), 0);
}

TEST_F(HolderTest, ReconcileAllTakesUpTensorsThatOnlyASlotHolds) {
  const Handle alone = table.create(floats(10));
  ASSERT_EQ(ledger_bytes(), 40u);
  table.find(alone)->resize_({20});
  table.reconcile_all();
  EXPECT_EQ(ledger_bytes(), 80u);
  table.free(alone);
  EXPECT_EQ(told(), 0);
}

TEST_F(HolderTest, WhileItChangesItsChargeStaysAsItWas) {
  parts->tensors = {floats(10)};
  hold();
  parts->changes_now = true;
  parts->tensors = {floats(50)};
  table.reconcile_all();
  EXPECT_EQ(ledger_bytes(), 40u);
  parts->changes_now = false;
  table.reconcile_all();
  EXPECT_EQ(ledger_bytes(), 200u);
}

TEST(Holder, IsNotAnOrdinaryTensor) { EXPECT_EQ(Holder::of(at::zeros({1})), nullptr); }

}  // namespace
}  // namespace ltn::handles
