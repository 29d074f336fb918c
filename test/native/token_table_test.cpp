// Tokens: how long they keep a tensor, and who may take it. A shared_ptr represents V8's backing store.
#include "native/share/token_table.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "native/share/alias.h"

namespace ltn::share {
namespace {

std::shared_ptr<const void> new_store() { return std::make_shared<const int>(0); }
Offer offer_of(const at::Tensor& tensor) { return {alias_of(tensor), tensor.requires_grad()}; }
bool is_alive(const c10::weak_intrusive_ptr<c10::StorageImpl>& storage) { return !storage.expired(); }

class TokenTableTest : public ::testing::Test {
 protected:
  at::Tensor tensor = at::ones({10});
  const c10::weak_intrusive_ptr<c10::StorageImpl> storage{tensor.storage().getWeakStorageImpl()};
  TokenTable table;
};

TEST_F(TokenTableTest, ATokenIsTakenAgainAndAgainAndHoldsTheTensor) {
  auto store = new_store();
  const TokenId id = table.add(offer_of(tensor), store, 1);
  EXPECT_GT(id, 0u);
  EXPECT_LT(id, uint64_t{1} << 53);
  tensor.reset();
  for (int i = 0; i < 3; ++i) {
    const auto offer = table.take(id, store);
    ASSERT_TRUE(offer.has_value());
    EXPECT_EQ(offer->tensor.sum().item<float>(), 10);
  }
  table.sweep_expired();
  EXPECT_TRUE(is_alive(storage));
  EXPECT_EQ(table.totals().tokens, 1u);
  EXPECT_EQ(table.totals().bytes, 40u);
}

TEST_F(TokenTableTest, AnUnreachableTokenIsFreedByTheNextSweep) {
  auto store = new_store();
  auto in_flight = store;
  table.add(offer_of(tensor), store, 1);
  tensor.reset();
  store.reset();
  table.sweep_expired();
  EXPECT_TRUE(is_alive(storage)) << "a message still has it";
  in_flight.reset();
  EXPECT_TRUE(is_alive(storage));
  table.sweep_expired();
  EXPECT_FALSE(is_alive(storage));
  EXPECT_EQ(table.totals().tokens, 0u);
  EXPECT_EQ(table.totals().bytes, 0u);
}

TEST_F(TokenTableTest, OtherMemoryDoesNotOpenIt) {
  const auto store = new_store();
  const TokenId id = table.add(offer_of(tensor), store, 1);
  EXPECT_FALSE(table.take(id, new_store()).has_value());
  EXPECT_FALSE(table.take(id, nullptr).has_value());
  EXPECT_FALSE(table.take(id + 1, store).has_value());
  EXPECT_FALSE(table.take(0, store).has_value());
  EXPECT_TRUE(table.take(id, store).has_value());
}

TEST_F(TokenTableTest, ARevokedTokenIsFreedAndTakenTensorsStay) {
  const auto store = new_store();
  const TokenId id = table.add(offer_of(tensor), store, 1);
  const auto offer = table.take(id, store);
  EXPECT_TRUE(table.revoke(id));
  EXPECT_FALSE(table.revoke(id));
  EXPECT_FALSE(table.take(id, store).has_value());
  tensor.reset();
  EXPECT_EQ(offer->tensor.sum().item<float>(), 10);
}

TEST_F(TokenTableTest, WithoutAStoreATokenIsTakenOnce) {
  const TokenId id = table.add(offer_of(tensor), nullptr, 1);
  table.sweep_expired();
  EXPECT_TRUE(table.take(id, new_store()).has_value());
  EXPECT_FALSE(table.take(id, nullptr).has_value());
  EXPECT_EQ(table.totals().tokens, 0u);
}

TEST_F(TokenTableTest, WithoutAStoreATokenEndsWithItsEnvironment) {
  const auto store = new_store();
  const TokenId exact = table.add(offer_of(tensor), store, 1);
  const TokenId of_one = table.add(offer_of(tensor), nullptr, 1);
  const TokenId of_two = table.add(offer_of(tensor), nullptr, 2);
  table.end_environment(1);
  EXPECT_FALSE(table.take(of_one, nullptr).has_value());
  EXPECT_TRUE(table.take(of_two, nullptr).has_value());
  EXPECT_TRUE(table.take(exact, store).has_value()) << "others may have this one";
}

TEST_F(TokenTableTest, ManyBytesMakeASweepDue) {
  EXPECT_FALSE(table.sweep_is_due());
  const at::Tensor large = at::zeros({16, 1024, 1024}, at::kByte);
  for (int i = 0; i < 3; ++i) table.add(offer_of(large), nullptr, 1);
  EXPECT_TRUE(table.sweep_is_due());
  table.sweep_expired();
  EXPECT_FALSE(table.sweep_is_due());
}

TEST_F(TokenTableTest, ThreadsAddTakeAndSweepAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> taken{0};
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto store = new_store();
        const TokenId id = table.add(offer_of(tensor), store, t);
        if (i % 3 == 0) table.sweep_expired();
        if (const auto offer = table.take(id, store)) {
          taken += static_cast<int>(alias_of(offer->tensor).numel());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 4 * 2000 * 10);
  table.sweep_expired();
  EXPECT_EQ(table.totals().tokens, 0u);
  EXPECT_EQ(tensor.storage().use_count(), 1);
}

TEST(Alias, SharesOnlyTheMemory) {
  at::Tensor tensor = at::arange(6, at::kFloat).view({2, 3}).t();
  const auto version = tensor._version();
  at::Tensor alias = alias_of(tensor);
  EXPECT_EQ(alias.data_ptr(), tensor.data_ptr());
  EXPECT_EQ(alias.sizes(), tensor.sizes());
  EXPECT_EQ(alias.strides(), tensor.strides());
  alias.fill_(7);
  EXPECT_EQ(tensor.sum().item<float>(), 42);
  EXPECT_EQ(tensor._version(), version) << "each thread counts its own changes";
  alias.resize_({2});
  alias.requires_grad_(true);
  EXPECT_EQ(tensor.numel(), 6);
  EXPECT_FALSE(tensor.requires_grad());
}

TEST(Alias, ASparseOneHasTensorsOfItsOwnInside) {
  const at::Tensor coo = at::ones({3, 4}).to_sparse();
  const at::Tensor alias = alias_of(coo);
  EXPECT_TRUE(alias.is_coalesced());
  EXPECT_NE(alias._values().unsafeGetTensorImpl(), coo._values().unsafeGetTensorImpl());
  EXPECT_EQ(alias._values().data_ptr(), coo._values().data_ptr());
  EXPECT_EQ(alias.to_dense().sum().item<float>(), 12);
  const at::Tensor csr = at::ones({3, 4}).to_sparse_csr();
  const at::Tensor other = alias_of(csr);
  EXPECT_NE(other.values().unsafeGetTensorImpl(), csr.values().unsafeGetTensorImpl());
  EXPECT_EQ(other.values().data_ptr(), csr.values().data_ptr());
  EXPECT_EQ(other.to_dense().sum().item<float>(), 12);
}

void borrowed_deleter(void*) {}

TEST(Alias, TensorsBoundToOneThreadAreRefused) {
  EXPECT_FALSE(why_not(at::ones({2}), &borrowed_deleter).has_value());
  EXPECT_FALSE(why_not(at::ones({2}).requires_grad_(), &borrowed_deleter).has_value());
  EXPECT_TRUE(why_not(at::ones({2}).requires_grad_().mul(2), &borrowed_deleter).has_value());
  EXPECT_FALSE(why_not(at::ones({2}).requires_grad_().mul(2).detach(), &borrowed_deleter).has_value());
  static float data[4];
  const at::Tensor borrowed = at::empty({0});
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), sizeof data,
      c10::DataPtr(data, data, &borrowed_deleter, c10::Device(c10::kCPU)), nullptr, false);
  borrowed.unsafeGetTensorImpl()->set_storage_keep_dtype(c10::Storage(std::move(storage)));
  EXPECT_TRUE(why_not(borrowed, &borrowed_deleter).has_value());
}

TEST(Alias, APinnedStorageCannotBeResized) {
  const at::Tensor tensor = at::ones({10});
  pin_storages(tensor);
  pin_storages(tensor);
  tensor.resize_({5});
  EXPECT_THROW(tensor.resize_({1000}), c10::Error);
  EXPECT_EQ(tensor.storage().nbytes(), 40u);
}

}  // namespace
}  // namespace ltn::share
