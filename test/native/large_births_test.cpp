// Large new storages, found by the slot table.
#include "native/handles/large_births.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <thread>

#include "native/audit/audit.h"
#include "native/handles/slot_table.h"
#include "test/native/support/ledger.h"

namespace ltn::handles {
namespace {

class LargeBirthsTest : public ::testing::Test {
 protected:
  ~LargeBirthsTest() override { LargeBirths::of_thread().set_threshold(LargeBirths::kOff); }

  accounting::ExternalMemory external{&ignore_report, nullptr};
  Flags flags;
  SlotTable table{5, external, flags};
};

TEST_F(LargeBirthsTest, NewStoragesFromTheThresholdOn) {
  LargeBirths& large = LargeBirths::of_thread();
  table.create(at::empty({1000}));
  EXPECT_FALSE(audit::enabled());
  large.set_threshold(400);
  EXPECT_TRUE(audit::enabled());
  table.create(at::empty({99}));
  EXPECT_EQ(flags.audit_pending, 0u);
  const at::Tensor base = at::empty({100});
  const Handle handle = table.create(at::Tensor(base));
  EXPECT_EQ(flags.audit_pending, 1u);
  table.create(base.view({10, 10}));  // the storage is known
  EXPECT_EQ(large.waiting(), 1u);
  EXPECT_EQ(large.take(5), std::vector<uint64_t>{handle});
  EXPECT_EQ(large.waiting(), 0u);
}

TEST_F(LargeBirthsTest, OffDropsWaitingBirths) {
  LargeBirths& large = LargeBirths::of_thread();
  large.set_threshold(0);
  table.create(at::empty({1}));
  EXPECT_EQ(large.waiting(), 1u);
  large.set_threshold(LargeBirths::kOff);
  EXPECT_EQ(large.waiting(), 0u);
  EXPECT_FALSE(audit::enabled());
  EXPECT_FALSE(large.is_large(LargeBirths::kOff));
}

TEST_F(LargeBirthsTest, BirthsOfAnotherEnvironmentAreNotTaken) {
  LargeBirths& large = LargeBirths::of_thread();
  large.set_threshold(0);
  table.create(at::empty({1}));
  EXPECT_TRUE(large.take(6).empty());
}

TEST_F(LargeBirthsTest, AnEndedThreadIsUnsubscribed) {
  std::thread([] {
    LargeBirths::of_thread().set_threshold(1);
    EXPECT_TRUE(audit::enabled());
  }).join();
  EXPECT_FALSE(audit::enabled());
}

}  // namespace
}  // namespace ltn::handles
