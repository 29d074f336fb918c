// One storage, several environments: its memory is reported to V8 in exactly one environment, which has a handle.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "native/accounting/storage_ledger.h"
#include "test/native/support/ledger.h"

namespace ltn::accounting {
namespace {

// An environment as seen by the ledger. `told` is the memory reported to its V8.
struct Environment {
  int64_t told = 0;
  ExternalMemory external{[](void* told, int64_t bytes) { *static_cast<int64_t*>(told) += bytes; }, &told};

  StorageEntry* hold(const at::Tensor& tensor) {
    Change change;
    StorageEntry* entry = acquire(storage_of(tensor), external, &change);
    external.add(change.bytes);
    return entry;
  }
  bool let_go(StorageEntry* entry) {
    const Change change = release(entry, external);
    external.add(change.bytes);
    return change.last;
  }
  void resized(StorageEntry* entry) { external.add(refresh(entry, external).bytes); }
  int64_t knows() {
    external.flush();
    return told;
  }
};

TEST(LedgerEnvironments, TheChargeMovesToOneThatIsLeft) {
  const at::Tensor tensor = at::zeros({100});
  Environment a, b, c;
  StorageEntry* entry = a.hold(tensor);
  EXPECT_EQ(b.hold(tensor), entry);
  EXPECT_EQ(c.hold(tensor), entry);
  EXPECT_EQ(c.hold(tensor), entry);
  EXPECT_EQ(a.knows(), 400);
  EXPECT_EQ(b.knows(), 0);
  EXPECT_EQ(c.knows(), 0);
  EXPECT_FALSE(a.let_go(entry));
  EXPECT_EQ(a.knows(), 0);
  EXPECT_EQ(b.knows() + c.knows(), 400);
  EXPECT_FALSE(b.let_go(entry));
  EXPECT_EQ(b.knows(), 0);
  EXPECT_EQ(c.knows(), 400);
  EXPECT_FALSE(c.let_go(entry));
  EXPECT_EQ(c.knows(), 400);
  EXPECT_TRUE(c.let_go(entry));
  EXPECT_EQ(c.knows(), 0);
}

TEST(LedgerEnvironments, ATemporaryHandleElsewhereChangesNothing) {
  const at::Tensor tensor = at::zeros({100});
  Environment a, b;
  StorageEntry* entry = a.hold(tensor);
  for (int i = 0; i < 3; ++i) {
    b.hold(tensor);
    EXPECT_NE(entry->holders, nullptr);
    EXPECT_FALSE(b.let_go(entry));
    EXPECT_EQ(entry->holders, nullptr) << "back to the cheap way";
  }
  EXPECT_EQ(a.knows(), 400);
  EXPECT_EQ(b.knows(), 0);
  EXPECT_TRUE(a.let_go(entry));
  EXPECT_EQ(a.knows(), 0);
}

TEST(LedgerEnvironments, AReturningEnvironmentIsNotChargedAgain) {
  const at::Tensor tensor = at::zeros({100});
  Environment a, b;
  StorageEntry* entry = a.hold(tensor);
  b.hold(tensor);
  a.let_go(entry);
  a.hold(tensor);
  EXPECT_EQ(a.knows(), 0);
  EXPECT_EQ(b.knows(), 400);
  b.let_go(entry);
  EXPECT_EQ(a.knows(), 400);
  EXPECT_EQ(b.knows(), 0);
  EXPECT_TRUE(a.let_go(entry));
}

TEST(LedgerEnvironments, AnotherSizeIsTheOwnersAffair) {
  const at::Tensor tensor = at::zeros({100});
  Environment a, b;
  StorageEntry* entry = a.hold(tensor);
  b.hold(tensor);
  tensor.resize_({1000});
  b.resized(entry);
  EXPECT_EQ(a.knows(), 4000);
  EXPECT_EQ(b.knows(), 0);
  a.let_go(entry);
  EXPECT_EQ(a.knows(), 0);
  EXPECT_EQ(b.knows(), 4000);
  b.let_go(entry);
  EXPECT_EQ(b.knows(), 0);
}

TEST(LedgerEnvironments, AReusedEntryForgetsOldEnvironments) {
  Environment a, b;
  for (int i = 0; i < 100; ++i) {
    const at::Tensor tensor = at::zeros({10});
    Environment& first = i % 2 == 0 ? a : b;
    Environment& second = i % 2 == 0 ? b : a;
    StorageEntry* entry = first.hold(tensor);
    ASSERT_EQ(entry->holders, nullptr);
    ASSERT_EQ(first.knows(), 40);
    second.hold(tensor);
    first.let_go(entry);
    ASSERT_EQ(second.knows(), 40);
    ASSERT_TRUE(second.let_go(entry));
  }
  EXPECT_EQ(a.knows() + b.knows(), 0);
}

// In any order, each storage is reported in exactly one environment, and only in one with a handle.
TEST(LedgerEnvironments, AThousandRandomSteps) {
  std::mt19937 random(7);
  std::array<Environment, 5> environments;
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < 8; ++i) tensors.push_back(at::zeros({i + 1}));
  std::vector<std::vector<std::vector<StorageEntry*>>> held(5, std::vector<std::vector<StorageEntry*>>(8));
  for (int step = 0; step < 1000; ++step) {
    const size_t e = random() % 5, t = random() % 8;
    if (random() % 2 == 0) {
      held[e][t].push_back(environments[e].hold(tensors[t]));
    } else if (!held[e][t].empty()) {
      environments[e].let_go(held[e][t].back());
      held[e][t].pop_back();
    }
    int64_t expected = 0, known = 0;
    for (size_t i = 0; i < 8; ++i) {
      bool any = false;
      for (const auto& of : held) any = any || !of[i].empty();
      if (any) expected += 4 * static_cast<int64_t>(i + 1);
    }
    for (size_t i = 0; i < 5; ++i) {
      int64_t most = 0;
      for (size_t k = 0; k < 8; ++k) most += held[i][k].empty() ? 0 : 4 * static_cast<int64_t>(k + 1);
      ASSERT_GE(environments[i].knows(), 0);
      ASSERT_LE(environments[i].knows(), most) << "charged without a handle";
      known += environments[i].told;
    }
    ASSERT_EQ(known, expected) << "step " << step;
  }
  for (size_t e = 0; e < 5; ++e) {
    for (auto& entries : held[e]) {
      for (StorageEntry* entry : entries) environments[e].let_go(entry);
    }
  }
  for (Environment& environment : environments) EXPECT_EQ(environment.knows(), 0);
}

TEST(LedgerEnvironments, ThreadsPassStoragesAround) {
  const LedgerTotals before = ledger_totals();
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < 16; ++i) tensors.push_back(at::zeros({100}));
  std::array<Environment, 4> environments;
  std::vector<std::thread> threads;
  for (size_t e = 0; e < environments.size(); ++e) {
    threads.emplace_back([&, e] {
      std::mt19937 random(static_cast<unsigned>(e));
      std::vector<StorageEntry*> held;
      for (int i = 0; i < 20000; ++i) {
        if (held.size() < 8 || random() % 2 == 0) {
          held.push_back(environments[e].hold(tensors[random() % tensors.size()]));
        } else {
          std::swap(held[random() % held.size()], held.back());
          environments[e].let_go(held.back());
          held.pop_back();
        }
        environments[e].external.settle();
        if (i % 1000 == 0) {
          const LedgerTotals now = ledger_totals();
          EXPECT_LE(now.bytes - before.bytes, 16u * 400u) << "each storage once at most";
          EXPECT_LE(now.storages - before.storages, 16u);
        }
      }
      for (StorageEntry* entry : held) environments[e].let_go(entry);
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Not each is 0 before all have ended, because the last figures come from other environments.
  for (Environment& environment : environments) EXPECT_EQ(environment.knows(), 0);
  EXPECT_EQ(ledger_totals().bytes, before.bytes);
  EXPECT_EQ(ledger_totals().storages, before.storages);
}

}  // namespace
}  // namespace ltn::accounting
