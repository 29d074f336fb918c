// The distance between samples: every storage at first, then within the budget, and finer again in a calm time.
#include <gtest/gtest.h>

#include "native/audit/sample_budget.h"
#include "native/audit/sampler.h"

namespace {

using ltn::audit::SampleBudget;
using ltn::audit::Sampler;

constexpr uint64_t kLargest = 512 * 1024;
constexpr uint64_t kBytes = 1000;
constexpr int64_t kRoundMs = 250;

struct Load {
  SampleBudget budget;
  Sampler sampler{7};
  int64_t ms = 0;
  double estimate = 0;

  explicit Load(bool adapts = true) { budget.begin(kLargest, adapts, 0); }

  // Returns how many storages were drawn.
  uint64_t rounds(int count, int storages) {
    uint64_t drawn = 0;
    for (int round = 0; round < count; ++round) {
      for (int i = 0; i < storages; ++i) {
        float weight = 0;
        budget.count();
        if (!sampler.draw(kBytes, budget.distance(), &weight)) continue;
        budget.drawn(kBytes + Sampler::kHandleBytes);
        estimate += weight;
        ++drawn;
      }
      budget.round(ms += kRoundMs);
    }
    return drawn;
  }
};

TEST(SampleBudget, RecordsEveryStorageOfASlowProgram) {
  Load load;
  EXPECT_EQ(load.rounds(40, 60), 40U * 60);
  EXPECT_EQ(load.budget.distance(), 1U);
  EXPECT_EQ(load.budget.made(), 40U * 60);
}

TEST(SampleBudget, StaysWithinTheBudgetOfAFastProgram) {
  Load load;
  const uint64_t first = load.rounds(240, 20'000);  // a minute
  EXPECT_LT(first, SampleBudget::kCredit + 1.5 * 60 * SampleBudget::kPerSecond);
  const uint64_t later = load.rounds(240, 20'000);
  EXPECT_LT(later, 1.5 * 60 * SampleBudget::kPerSecond);
  EXPECT_GT(later, 0.25 * 60 * SampleBudget::kPerSecond);
  EXPECT_GT(load.budget.distance(), kBytes);
  // An estimate from 15,000 samples and more, unbiased at every distance.
  EXPECT_NEAR(load.estimate, 480.0 * 20'000, 0.1 * 480 * 20'000);
}

TEST(SampleBudget, IsFineAgainAfterABurst) {
  Load load;
  load.rounds(1, 1'000'000);
  EXPECT_GT(load.budget.distance(), kBytes);
  load.rounds(20, 10);
  EXPECT_EQ(load.budget.distance(), 1U);
}

TEST(SampleBudget, AGivenDistanceIsFixed) {
  Load load(false);
  load.rounds(4, 10);
  EXPECT_EQ(load.budget.distance(), kLargest);
  load.rounds(1, 1'000'000);
  EXPECT_EQ(load.budget.distance(), kLargest);
}

}  // namespace
