// The recorder's tables: which site is charged with which bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

#include "native/audit/recorder.h"
#include "native/audit/sampler.h"

namespace ltn::audit {
namespace {

class AuditRecorder : public ::testing::Test {
 protected:
  // One handle, tagged with `site`; `at` is its time of birth.
  uint32_t make(const void* storage, uint64_t bytes, bool is_new, uint32_t site, int64_t at) {
    Birth birth;
    birth.storage = storage;
    birth.storage_bytes = bytes;
    birth.storage_is_new = is_new;
    const uint32_t id = recorder.created(birth, 1, false, at);
    recorder.tag_pending(0, site);
    return id;
  }

  void drain() {
    recorder.drain(&changes);
    for (const CellRow& r : changes.rows) latest[r.site] = r;
  }

  // The latest row of a site.
  CellRow row(uint32_t site) {
    drain();
    return latest[site];
  }

  Recorder recorder;
  Recorder::Changes changes;
  std::map<uint32_t, CellRow> latest;
  int a = 0, b = 0;  // their addresses are storage identities
};

TEST_F(AuditRecorder, CountsAStorageOnceAtTheSiteOfItsOldestHandle) {
  make(&a, 1000, true, 1, 10);
  make(&a, 1000, false, 2, 20);
  EXPECT_EQ(row(1).live_bytes, 1000u);
  EXPECT_EQ(row(1).live_tensors, 1u);
  EXPECT_EQ(row(2).live_bytes, 0u);
  EXPECT_EQ(row(2).live_tensors, 1u);
  EXPECT_EQ(row(2).allocated_bytes, 0u);
  EXPECT_EQ(row(1).allocated_bytes, 1000u);
}

TEST_F(AuditRecorder, BlamesTheViewOnceTheBaseIsGone) {
  const uint32_t base = make(&a, 1000, true, 1, 10);
  const uint32_t view = make(&a, 1000, false, 2, 20);
  recorder.freed(base);
  EXPECT_EQ(row(1).live_bytes, 0u);
  EXPECT_EQ(row(1).live_tensors, 0u);
  EXPECT_EQ(row(2).live_bytes, 1000u);
  recorder.freed(view);
  recorder.storage_released(&a);
  EXPECT_EQ(row(2).live_bytes, 0u);
  EXPECT_EQ(recorder.recorded_totals().storages, 0u);
}

TEST_F(AuditRecorder, KeepsTheOldestBirthPerSite) {
  const uint32_t first = make(&a, 8, true, 1, 10);
  const uint32_t second = make(&b, 8, true, 1, 20);
  EXPECT_EQ(row(1).oldest_birth_ms, 10);
  recorder.freed(first);
  EXPECT_EQ(row(1).oldest_birth_ms, 20);
  recorder.freed(second);
  EXPECT_EQ(row(1).oldest_birth_ms, INT64_MIN);
}

TEST_F(AuditRecorder, FollowsResizesAndMoves) {
  const uint32_t id = make(&a, 100, true, 1, 10);
  recorder.storage_resized(&a, 250);
  EXPECT_EQ(row(1).live_bytes, 250u);
  EXPECT_EQ(row(1).allocated_bytes, 250u);
  recorder.storage_resized(&a, 50);
  EXPECT_EQ(row(1).live_bytes, 50u);
  recorder.storage_moved(id, &b, 400, true);
  EXPECT_EQ(row(1).live_bytes, 400u);
  recorder.storage_moved(id, nullptr, 0, false);
  EXPECT_EQ(row(1).live_bytes, 0u);
  EXPECT_EQ(row(1).live_tensors, 1u);
}

TEST_F(AuditRecorder, MovesBytesBetweenSitesWhenAHandleJoinsAnotherStorage) {
  const uint32_t young = make(&b, 70, true, 2, 20);
  const uint32_t old = make(&a, 100, true, 1, 10);
  recorder.storage_moved(old, &b, 70, false);  // set_: the older handle now owns b
  EXPECT_EQ(row(1).live_bytes, 70u);
  EXPECT_EQ(row(2).live_bytes, 0u);
  recorder.freed(old);
  EXPECT_EQ(row(2).live_bytes, 70u);
  recorder.freed(young);
  EXPECT_EQ(row(2).live_bytes, 0u);
}

TEST_F(AuditRecorder, SurvivesAnAddressThatIsUsedAgain) {
  const uint32_t stale = make(&a, 100, true, 1, 10);
  make(&a, 300, true, 2, 20);  // a new storage at the same address; the old one's release was not reported
  EXPECT_EQ(row(1).live_bytes, 0u);
  EXPECT_EQ(row(2).live_bytes, 300u);
  recorder.freed(stale);
  EXPECT_EQ(row(2).live_bytes, 300u);
}

TEST_F(AuditRecorder, IgnoresStaleAndForeignIds) {
  const uint32_t id = make(&a, 100, true, 1, 10);
  recorder.freed(id);
  recorder.freed(id);
  recorder.freed(0);
  recorder.freed(12345678);
  const uint32_t next = make(&b, 10, true, 1, 20);  // takes the slot with another generation
  EXPECT_NE(next, id);
  recorder.freed(id);
  EXPECT_EQ(row(1).live_tensors, 1u);
}

TEST_F(AuditRecorder, CountsBirthsWaitingForAStack) {
  Birth birth;
  birth.env = 3;
  const uint32_t first = recorder.created(birth, 1, false, 10);
  recorder.created(birth, 1, false, 11);
  EXPECT_EQ(recorder.pending(3), 2u);
  EXPECT_EQ(recorder.pending(0), 0u);
  recorder.freed(first);
  EXPECT_EQ(recorder.pending(3), 1u);
  EXPECT_EQ(row(0).live_tensors, 1u);
  recorder.tag_pending(3, 7);
  EXPECT_EQ(recorder.pending(3), 0u);
  EXPECT_EQ(row(0).live_tensors, 0u);
  EXPECT_EQ(row(0).allocated_tensors, 1u);  // the tensor freed without a stack
  EXPECT_EQ(row(7).live_tensors, 1u);
  EXPECT_EQ(row(7).allocated_tensors, 1u);
}

TEST_F(AuditRecorder, KeepsDevicesApart) {
  Birth birth;
  birth.device_type = 1;
  birth.device_index = 2;
  recorder.created(birth, 1, false, 10);
  recorder.tag_pending(0, 5);
  const CellRow r = row(5);
  EXPECT_EQ(r.device_type, 1);
  EXPECT_EQ(r.device_index, 2);
}

TEST_F(AuditRecorder, SamplesWholeStorages) {
  Birth birth;
  birth.storage = &a;
  birth.storage_bytes = 100;
  EXPECT_EQ(recorder.created(birth, 1, true, 10), 0u) << "a view of a storage that was not drawn";
  birth.storage_is_new = true;
  const uint32_t base = recorder.created(birth, 4, false, 10);
  birth.storage_is_new = false;
  const uint32_t view = recorder.created(birth, 1, true, 20);
  ASSERT_NE(view, 0u);
  recorder.tag_pending(0, 1);
  EXPECT_EQ(row(1).live_tensors, 8u);
  EXPECT_EQ(row(1).live_bytes, 400u);
  recorder.freed(base);
  recorder.freed(view);
  EXPECT_EQ(row(1).live_tensors, 0u);
  EXPECT_EQ(row(1).live_bytes, 0u);
}

TEST_F(AuditRecorder, TakesFreesFromAnyThread) {
  constexpr int kThreads = 4, kEach = 5000;
  std::vector<int> identities(kThreads * kEach);
  std::vector<uint32_t> ids(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto at = static_cast<size_t>(t * kEach + i);
        Birth birth;
        birth.storage = &identities[at];
        birth.storage_bytes = 16;
        birth.storage_is_new = true;
        birth.env = static_cast<uint32_t>(t);
        ids[at] = recorder.created(birth, 1, false, i);
        if (i % 3 == 0) recorder.tag_pending(birth.env, 1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (uint32_t t = 0; t < kThreads; ++t) recorder.tag_pending(t, 1);
  EXPECT_EQ(row(1).live_tensors, uint64_t{kThreads * kEach});
  EXPECT_EQ(row(1).live_bytes, uint64_t{kThreads * kEach * 16});
  threads.clear();
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // Each thread frees tensors of another one.
      for (int i = 0; i < kEach; ++i) recorder.freed(ids[static_cast<size_t>(((t + 1) % kThreads) * kEach + i)]);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(row(1).live_tensors, 0u);
  EXPECT_EQ(row(1).live_bytes, 0u);
  EXPECT_EQ(row(1).oldest_birth_ms, INT64_MIN);
}

TEST_F(AuditRecorder, TellsBirthsThatOutliveTheRoundAndTheirDeaths) {
  const uint32_t brief = make(&a, 100, true, 1, 10);
  recorder.freed(brief);
  recorder.storage_released(&a);
  const uint32_t kept = make(&b, 70, true, 2, 20);
  drain();
  ASSERT_EQ(changes.births.size(), 1u);
  EXPECT_EQ(changes.births[0].id, kept);
  EXPECT_EQ(changes.births[0].site, 2u);
  EXPECT_EQ(changes.births[0].birth_ms, 20);
  EXPECT_EQ(changes.births[0].bytes, 70u);
  EXPECT_TRUE(changes.deaths.empty());
  drain();
  EXPECT_TRUE(changes.births.empty());
  recorder.freed(kept);
  drain();
  EXPECT_EQ(changes.deaths, std::vector<uint32_t>{kept});
}

TEST_F(AuditRecorder, TellsABirthOnceItHasItsStack) {
  Birth birth;
  const uint32_t id = recorder.created(birth, 1, false, 10);
  drain();
  EXPECT_TRUE(changes.births.empty());
  recorder.tag_pending(0, 5);
  drain();
  ASSERT_EQ(changes.births.size(), 1u);
  EXPECT_EQ(changes.births[0].id, id);
  EXPECT_EQ(changes.births[0].site, 5u);
}

TEST_F(AuditRecorder, RepeatsReportsThatDidNotArrive) {
  const uint32_t site = recorder.define_site(0, 0, "[]");
  const uint32_t one = make(&a, 1, true, site, 10);
  const uint32_t two = make(&b, 2, true, site, 20);
  drain();
  recorder.freed(one);
  recorder.requeue(changes);
  drain();
  EXPECT_EQ(changes.sites.size(), 1u);
  ASSERT_EQ(changes.births.size(), 1u);
  EXPECT_EQ(changes.births[0].id, two);
  EXPECT_EQ(row(site).live_tensors, 1u);
  recorder.freed(two);
  drain();
  recorder.requeue(changes);
  drain();
  EXPECT_NE(std::find(changes.deaths.begin(), changes.deaths.end(), two), changes.deaths.end());
}

TEST_F(AuditRecorder, ReportsTheOwnerOfABirthAndItsChanges) {
  constexpr uint32_t kScope = 1 << 20 | 3, kOuter = 1 << 20 | 2;
  const auto born = [&](uint32_t owner, int64_t at) {
    Birth birth;
    birth.owner = owner;
    const uint32_t id = recorder.created(birth, 1, false, at);
    recorder.tag_pending(0, 1);
    return id;
  };
  const uint32_t free = born(kCollector, 1), scoped = born(kScope, 2), returned = born(kScope, 3);
  recorder.moved(returned, kKept);  // within the round
  drain();
  ASSERT_EQ(changes.births.size(), 3u);
  EXPECT_EQ(changes.births[0].id, free);
  EXPECT_EQ(changes.births[0].flags, kByCollector);
  EXPECT_EQ(changes.births[1].flags, kByScope);
  EXPECT_EQ(changes.births[2].flags, kByKeep);
  ASSERT_EQ(changes.scopes.size(), 1u);
  EXPECT_EQ(changes.scopes[0].id, scoped);
  EXPECT_EQ(changes.scopes[0].scope, kScope);
  EXPECT_TRUE(changes.kept.empty());

  recorder.moved(scoped, kOuter);
  recorder.moved(scoped, kScope);
  recorder.moved(scoped, kOuter);  // only the owner at the round's end counts
  drain();
  ASSERT_EQ(changes.scopes.size(), 1u);
  EXPECT_EQ(changes.scopes[0].scope, kOuter);
  recorder.requeue(changes);  // it did not arrive
  recorder.moved(scoped, kKept);
  drain();
  EXPECT_TRUE(changes.scopes.empty());
  EXPECT_EQ(changes.kept, std::vector<uint32_t>{scoped});
  drain();
  EXPECT_TRUE(changes.kept.empty());

  std::vector<BirthEntry> file(1);  // as first written
  file[0].id = scoped;
  file[0].flags = kByScope | kView;
  recorder.keep_live(&file);
  ASSERT_EQ(file.size(), 1u);
  EXPECT_EQ(file[0].flags, kByKeep | kView);
  recorder.moved(scoped, kScope);
  recorder.freed(scoped);
  drain();
  EXPECT_TRUE(changes.scopes.empty());
}

TEST_F(AuditRecorder, KnowsSinceWhenAllHeapsWereCollected) {
  EXPECT_EQ(recorder.collected_everywhere(), INT64_MIN);
  recorder.collection_began(1, 50);  // of an environment without tensors
  EXPECT_EQ(recorder.collected_everywhere(), INT64_MIN);
  Birth birth;
  birth.env = 1;
  recorder.created(birth, 1, false, 10);
  EXPECT_EQ(recorder.collected_everywhere(), 50);
  recorder.collection_began(1, 40);  // reported late
  EXPECT_EQ(recorder.collected_everywhere(), 50);
  birth.env = 2;
  recorder.created(birth, 1, false, 60);
  EXPECT_EQ(recorder.collected_everywhere(), INT64_MIN);
  recorder.collection_began(2, 70);
  EXPECT_EQ(recorder.collected_everywhere(), 50);
}

TEST_F(AuditRecorder, InternsShapesAndKeepsLabelsApart) {
  const int64_t sizes[] = {2, 3};
  Birth birth;
  birth.sizes = sizes;
  birth.ndim = 2;
  const uint32_t label = recorder.define_label(R"({"route":"/a"})");
  recorder.created(birth, 1, false, 10);
  recorder.tag_pending(0, 1);
  recorder.created(birth, 1, false, 11);
  recorder.tag_pending(0, 1, label);
  birth.ndim = 1;
  recorder.created(birth, 1, false, 12);
  recorder.tag_pending(0, 1, label);
  drain();
  ASSERT_EQ(changes.shapes.size(), 2u);
  EXPECT_EQ(changes.shapes[0].sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(changes.shapes[1].sizes, (std::vector<int64_t>{2}));
  ASSERT_EQ(changes.births.size(), 3u);
  EXPECT_EQ(changes.births[0].shape, changes.births[1].shape);
  EXPECT_EQ(changes.births[2].shape, changes.shapes[1].id);
  std::map<uint32_t, uint64_t> by_label;
  for (const CellRow& r : changes.rows) by_label[r.label] += r.live_tensors;
  EXPECT_EQ(by_label[0], 1u);
  EXPECT_EQ(by_label[label], 2u);
}

// Tensors that a loop frees at once must not be kept until the next round.
TEST_F(AuditRecorder, DropsTensorsFreedAtOnce) {
  for (int i = 0; i < 2'000'000; ++i) recorder.freed(make(nullptr, 0, false, 1, i));
  drain();
  EXPECT_TRUE(changes.births.empty());
  EXPECT_TRUE(changes.deaths.empty());
  EXPECT_EQ(row(1).allocated_tensors, 2'000'000u);
  EXPECT_LT(recorder.pending_bytes(), 65536u);
}

TEST(AuditSampler, IsUnbiased) {
  constexpr uint64_t kInterval = 64 * 1024;
  for (const uint64_t size : {uint64_t{16}, uint64_t{1000}, uint64_t{40'000}, uint64_t{70'000}}) {
    Sampler sampler(42);
    const uint64_t n = 400'000;
    double estimate = 0;
    for (uint64_t i = 0; i < n; ++i) {
      float weight = 0;
      if (sampler.draw(size, kInterval, &weight)) estimate += weight;
    }
    EXPECT_NEAR(estimate / static_cast<double>(n), 1.0, 0.15) << size;
  }
}

TEST(AuditSampler, TakesBigOnesExactly) {
  Sampler sampler(1);
  for (int i = 0; i < 100; ++i) {
    float weight = 0;
    EXPECT_TRUE(sampler.draw(1 << 20, 512 * 1024, &weight));
    EXPECT_EQ(weight, 1.0F);
  }
}

}  // namespace
}  // namespace ltn::audit
