// What autograd graphs hold, by site: nodes that live tensors lead to, and storages whose last tensor is gone.
#include "native/handles/graph_census.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace ltn::handles {
namespace {

constexpr uint32_t kSum = 1, kShown = 2;

const audit::GraphRow* row_of(const std::vector<audit::GraphRow>& rows, uint32_t site) {
  for (const audit::GraphRow& row : rows) {
    if (row.site == site) return &row;
  }
  return nullptr;
}

class GraphCensusTest : public ::testing::Test {
 protected:
  std::vector<audit::GraphRow> count(const std::vector<std::pair<at::Tensor, uint32_t>>& tensors, uint32_t flags = 0) {
    std::vector<GraphCensus::Candidate> live;
    for (const auto& [tensor, site] : tensors) live.push_back({graph_of(tensor), site, ++now_});
    return census.rows(&live, flags);
  }

  // Three nodes more.
  void step() { total = total + (weight * 2) * 3; }

  GraphCensus census;
  at::Tensor weight = at::ones({4}).requires_grad_();
  at::Tensor total = at::ones({4});

 private:
  int64_t now_ = 0;
};

TEST_F(GraphCensusTest, ALeafAndWhatNeedsNoGradientHaveNoGraph) {
  EXPECT_FALSE(has_graph(weight));
  EXPECT_FALSE(has_graph(total));
  EXPECT_FALSE(has_graph(at::Tensor()));
  step();
  EXPECT_TRUE(has_graph(total));
}

TEST_F(GraphCensusTest, CountsARunningValueToTheNodeAndSeesThatItCarriesItself) {
  for (int i = 1; i <= 400; ++i) {
    step();
    if (i % 7 != 0) continue;  // steps between two looks
    const auto rows = count({{total, kSum}});
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].tensors, 1u);
    EXPECT_EQ(rows[0].nodes, 3u * static_cast<uint64_t>(i));
    EXPECT_EQ((rows[0].flags & audit::kCarriesItself) != 0, i > 7);
  }
}

TEST_F(GraphCensusTest, AValueThatIsMadeOfARunningOneDoesNotCarryItself) {
  for (int i = 1; i <= 60; ++i) {
    step();
    const auto rows = count({{total, kSum}, {total * 0.5, kShown}}, audit::kCollected);
    EXPECT_EQ(row_of(rows, kShown)->nodes, 3u * static_cast<uint64_t>(i) + 1);
    EXPECT_EQ(row_of(rows, kShown)->flags, audit::kCollected);
  }
}

TEST_F(GraphCensusTest, GraphsThatShareNodesAreNotAddedUp) {
  for (int i = 0; i < 100; ++i) step();
  const at::Tensor a = total * 2;
  const at::Tensor b = total * 3;
  const auto rows = count({{total, kSum}, {a, kSum}, {b, kSum}, {a + b, kShown}});
  EXPECT_EQ(row_of(rows, kSum)->tensors, 3u);
  EXPECT_EQ(row_of(rows, kSum)->nodes, 301u);
  EXPECT_GE(row_of(rows, kShown)->nodes, 302u);
  EXPECT_LE(row_of(rows, kShown)->nodes, 303u);
}

TEST_F(GraphCensusTest, ASiteThatLostItsGraphsIsToldOnceMore) {
  step();
  EXPECT_EQ(count({{total, kSum}}).size(), 1u);
  const auto rows = count({});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].tensors, 0u);
  EXPECT_EQ(rows[0].nodes, 0u);
  EXPECT_TRUE(count({}).empty());
}

TEST_F(GraphCensusTest, AGraphThatIsTooLargeIsCutOffAndStillGrows) {
  for (int i = 0; i < 40'000; ++i) step();
  const auto before = count({{total, kSum}});
  EXPECT_NE(before[0].flags & audit::kCutOff, 0u);
  for (int i = 0; i < 10; ++i) step();
  const auto after = count({{total, kSum}});
  EXPECT_EQ(after[0].nodes, before[0].nodes + 30);
  EXPECT_NE(after[0].flags & audit::kCutOff, 0u);
}

TEST_F(GraphCensusTest, AStorageIsHiddenAsLongAsSomebodyHoldsIt) {
  at::Tensor held = at::ones({256});
  Hidden hidden;
  hidden.storage = held.storage().getWeakStorageImpl();
  hidden.key = held.storage().unsafeGetStorageImpl();
  hidden.bytes = 1024;
  hidden.site = kSum;
  census.add(std::move(hidden));
  const auto rows = count({});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].hidden_storages, 1u);
  EXPECT_EQ(rows[0].hidden_bytes, 1024u);
  held.reset();
  EXPECT_EQ(count({})[0].hidden_bytes, 0u);
  EXPECT_TRUE(count({}).empty());
}

}  // namespace
}  // namespace ltn::handles
