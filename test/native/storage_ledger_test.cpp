// The ledger of storages: each is counted once whatever the number of its handles, and refunded to the byte.
#include "native/accounting/storage_ledger.h"

#include <ATen/ops/_efficientzerotensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "test/native/support/ledger.h"

namespace ltn::accounting {
namespace {

class StorageLedger : public ::testing::Test {
 protected:
  void expect_since(uint64_t tensors, uint64_t storages, uint64_t bytes) {
    const LedgerTotals now = ledger_totals();
    EXPECT_EQ(now.tensors - before.tensors, tensors);
    EXPECT_EQ(now.storages - before.storages, storages);
    EXPECT_EQ(now.bytes - before.bytes, bytes);
    uint64_t sums[3];
    ledger_sums(&sums[0], &sums[1], &sums[2]);
    EXPECT_EQ(sums[0], now.tensors);
    EXPECT_EQ(sums[1], now.storages);
    EXPECT_EQ(sums[2], now.bytes);
  }
  const LedgerTotals before = ledger_totals();
  ExternalMemory account{[](void*, int64_t) {}, nullptr};
};

TEST_F(StorageLedger, AStorageIsChargedToItsFirstHandleAndRefundedByItsLast) {
  const at::Tensor tensor = at::zeros({100});
  Change first, second;
  StorageEntry* entry = acquire(storage_of(tensor), account, &first);
  EXPECT_EQ(acquire(storage_of(tensor.view({10, 10})), account, &second), entry);
  EXPECT_TRUE(first.first);
  EXPECT_EQ(first.bytes, 400);
  EXPECT_FALSE(second.first);
  EXPECT_EQ(second.bytes, 0);
  expect_since(2, 1, 400);
  const Change one_left = release(entry, account);
  EXPECT_FALSE(one_left.last);
  EXPECT_EQ(one_left.bytes, 0);
  const Change none_left = release(entry, account);
  EXPECT_TRUE(none_left.last);
  EXPECT_EQ(none_left.bytes, -400);
  expect_since(0, 0, 0);
}

TEST_F(StorageLedger, RefreshChargesTheDifferenceAndReleaseRefundsTheCharge) {
  const at::Tensor tensor = at::zeros({10});
  Change change;
  StorageEntry* entry = acquire(storage_of(tensor), account, &change);
  tensor.resize_({1000});
  EXPECT_EQ(refresh(entry, account).bytes, 3960);
  EXPECT_EQ(refresh(entry, account).bytes, 0);
  expect_since(1, 1, 4000);
  tensor.resize_({2000});  // without a refresh the refund equals the charge
  EXPECT_EQ(release(entry, account).bytes, -4000);
  expect_since(0, 0, 0);
}

TEST_F(StorageLedger, AnEntryKeepsTheAddressButNotTheMemory) {
  at::Tensor tensor = at::zeros({10});
  const c10::weak_intrusive_ptr<c10::StorageImpl> weak(tensor.storage().getWeakStorageImpl());
  Change change;
  StorageEntry* entry = acquire(storage_of(tensor), account, &change);
  tensor.reset();
  EXPECT_TRUE(weak.expired()) << "the ledger owns no data";
  EXPECT_EQ(release(entry, account).bytes, -40);
}

TEST_F(StorageLedger, AMetaTensorHasZeroBytes) {
  const at::Tensor tensor = at::empty({1000}, at::TensorOptions().device(at::kMeta));
  Change change;
  StorageEntry* entry = acquire(storage_of(tensor), account, &change);
  EXPECT_EQ(change.bytes, 0);
  expect_since(1, 1, 0);
  release(entry, account);
}

void borrowed_deleter(void*) {}

TEST_F(StorageLedger, BorrowedMemoryIsNotCharged) {
  set_borrowed_deleter(&borrowed_deleter);
  static float data[64];
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), sizeof data,
      c10::DataPtr(data, data, &borrowed_deleter, c10::Device(c10::kCPU)), nullptr, false);
  Change change;
  StorageEntry* entry = acquire(storage.get(), account, &change);
  EXPECT_TRUE(change.first);
  EXPECT_EQ(change.bytes, 0);
  EXPECT_TRUE(entry->borrowed);
  expect_since(1, 1, 0);
  release(entry, account);
  set_borrowed_deleter(nullptr);
}

TEST_F(StorageLedger, ManyStoragesInRandomOrder) {
  constexpr size_t kCount = 20000;  // many growths of every shard's table
  std::vector<at::Tensor> tensors;
  std::vector<std::pair<StorageEntry*, int64_t>> entries;
  std::mt19937 random(1);
  uint64_t bytes = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const int64_t size = static_cast<int64_t>(random() % 8 + 1);
    tensors.push_back(at::empty({size}));
    Change change;
    entries.emplace_back(acquire(storage_of(tensors.back()), account, &change), 4 * size);
    ASSERT_TRUE(change.first);
    bytes += static_cast<uint64_t>(4 * size);
  }
  expect_since(kCount, kCount, bytes);
  std::shuffle(entries.begin(), entries.end(), random);
  for (size_t i = 0; i < kCount / 2; ++i) {
    ASSERT_EQ(release(entries[i].first, account).bytes, -entries[i].second);
    bytes -= static_cast<uint64_t>(entries[i].second);
  }
  expect_since(kCount / 2, kCount / 2, bytes);
  // Remaining ones are found, not entered a second time.
  for (size_t i = kCount / 2; i < kCount; ++i) {
    Change change;
    ASSERT_EQ(acquire(const_cast<c10::StorageImpl*>(entries[i].first->key), account, &change), entries[i].first);
    ASSERT_FALSE(change.first);
    ASSERT_FALSE(release(entries[i].first, account).last);
    ASSERT_TRUE(release(entries[i].first, account).last);
  }
  expect_since(0, 0, 0);
}

TEST_F(StorageLedger, ThreadsThatShareStoragesCountEachOnce) {
  std::vector<at::Tensor> shared;
  for (int i = 0; i < 100; ++i) shared.push_back(at::zeros({16}));
  std::atomic<int64_t> charged{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::vector<StorageEntry*> entries;
        for (const at::Tensor& tensor : shared) {
          Change change;
          entries.push_back(acquire(storage_of(tensor), account, &change));
          charged += change.bytes;
        }
        for (StorageEntry* entry : entries) charged += release(entry, account).bytes;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(charged, 0);
  expect_since(0, 0, 0);
}

TEST_F(StorageLedger, TotalsAreToldByDevice) {
  const at::Tensor cpu = at::zeros({100});
  const at::Tensor meta = at::empty({5}, at::TensorOptions().device(at::kMeta));
  Change change;
  StorageEntry* a = acquire(storage_of(cpu), account, &change);
  StorageEntry* b = acquire(storage_of(meta), account, &change);
  uint64_t seen = 0;
  for (const DeviceTotals& device : ledger_totals().devices) {
    if (device.device == "meta") seen += device.tensors;
    if (device.device == "cpu") {
      EXPECT_GE(device.bytes, 400u);
    }
  }
  EXPECT_EQ(seen, 1u);
  release(a, account);
  release(b, account);
}

TEST_F(StorageLedger, ASizeWithoutMemoryIsNotCharged) {
  const at::Tensor meta = at::empty({100}, at::TensorOptions().device(at::kMeta));
  const at::Tensor zeros = at::_efficientzerotensor({100}, at::TensorOptions(at::kFloat));
  ASSERT_NE(storage_of(zeros)->nbytes(), 0u);
  for (const at::Tensor& tensor : {meta, zeros}) {
    Change change;
    StorageEntry* entry = acquire(storage_of(tensor), account, &change);
    EXPECT_TRUE(change.first);
    EXPECT_EQ(change.bytes, 0);
    EXPECT_EQ(refresh(entry, account).bytes, 0);
    expect_since(1, 1, 0);
    EXPECT_EQ(release(entry, account).bytes, 0);
  }
}

TEST_F(StorageLedger, TensorsWithoutAStorageAreCountedToo) {
  count_storageless(3);
  expect_since(3, 0, 0);
  count_storageless(-3);
  expect_since(0, 0, 0);
}

}  // namespace
}  // namespace ltn::accounting
