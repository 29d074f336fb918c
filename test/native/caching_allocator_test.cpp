// CUDA's caching allocator: the build without it, and its queries before it allocates more from a device. The tests
// with a device need one, or a fake CUDA runtime with host memory.
#include "native/cuda/caching_allocator.h"

#include <gtest/gtest.h>

#include "native/accounting/collection_threshold.h"

#ifdef LTN_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <vector>
#endif

namespace ltn::cuda {
namespace {

using accounting::CollectionThreshold;

TEST(CollectionThreshold, IsDueAfterTheMinimumGrowthAndThenAfterHalfOfTheBytesInUse) {
  CollectionThreshold threshold;
  EXPECT_FALSE(threshold.due(0));
  EXPECT_FALSE(threshold.due(CollectionThreshold::kMin - 1));
  EXPECT_TRUE(threshold.due(CollectionThreshold::kMin));
  threshold.collected(0);
  EXPECT_TRUE(threshold.due(CollectionThreshold::kMin));
  const uint64_t large = uint64_t{8} << 30;
  threshold.collected(large);
  EXPECT_FALSE(threshold.due(large));
  EXPECT_FALSE(threshold.due(large + large / 2 - 1));
  EXPECT_TRUE(threshold.due(large + large / 2));
}

#ifndef LTN_CUDA

TEST(CachingAllocator, IsMissingInABuildWithoutCuda) {
  install_free_memory_callback([](uint64_t) { return true; });
  empty_cache();
  EXPECT_FALSE(has_caching_allocator());
  EXPECT_FALSE(is_started());
  EXPECT_EQ(free_memory_callback_name(), nullptr);
  EXPECT_EQ(device_memory(0).reserved_bytes, 0u);
}

#else

std::vector<c10::DataPtr> garbage;
int asked = 0;

bool drop_garbage(uint64_t) {
  ++asked;
  const bool any = !garbage.empty();
  garbage.clear();
  return any;
}

c10::DataPtr allocate(size_t bytes) { return c10::cuda::CUDACachingAllocator::get()->allocate(bytes); }

class CachingAllocator : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    EXPECT_FALSE(is_started());
    EXPECT_EQ(device_memory(0).reserved_bytes, 0u);
    empty_cache();  // no effect yet
    install_free_memory_callback(&drop_garbage);
    install_free_memory_callback(nullptr);  // the first call counts
  }
  void SetUp() override {
    if (c10::cuda::device_count() == 0) GTEST_SKIP() << "no CUDA device";
    c10::cuda::CUDACachingAllocator::init(c10::cuda::device_count());
    garbage.clear();
    empty_cache();
    asked = 0;
  }
};

TEST_F(CachingAllocator, ReportsTheMemoryOfADevice) {
  ASSERT_TRUE(is_started());
  const DeviceMemory before = device_memory(0);
  {
    const c10::DataPtr block = allocate(8 << 20);
    const DeviceMemory during = device_memory(0);
    EXPECT_EQ(during.allocated_bytes, before.allocated_bytes + (8 << 20));
    EXPECT_GE(during.reserved_bytes, during.allocated_bytes);
    EXPECT_GE(during.peak_allocated_bytes, during.allocated_bytes);
  }
  EXPECT_EQ(device_memory(0).allocated_bytes, before.allocated_bytes);
  EXPECT_GE(device_memory(0).reserved_bytes, uint64_t{8} << 20);
  empty_cache();
  EXPECT_EQ(device_memory(0).reserved_bytes, 0u);
}

TEST_F(CachingAllocator, RequestsACollectionBeforeItGrowsAndUsesFreedBlocks) {
  for (int i = 0; i < 400; ++i) garbage.push_back(allocate(4 << 20));  // 1,600 MiB in all
  EXPECT_GT(asked, 0);
  EXPECT_LT(asked, 100);  // not for every block
  EXPECT_LT(device_memory(0).peak_reserved_bytes, uint64_t{256} << 20);
}

TEST_F(CachingAllocator, RequestsFewCollectionsWithoutGarbage) {
  std::vector<c10::DataPtr> used;
  for (int i = 0; i < 256; ++i) used.push_back(allocate(4 << 20));
  EXPECT_LT(asked, 10);
}

#endif

}  // namespace
}  // namespace ltn::cuda
