// The counting CPU allocator counts libtorch's memory to the byte.
#include "native/accounting/cpu_allocator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "native/accounting/large_blocks.h"

namespace ltn::accounting {
namespace {

class CpuAllocator : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_counting_cpu_allocator();
    install_counting_cpu_allocator();  // no effect
  }
  static uint64_t held() { return cpu_allocator_totals().allocated_bytes; }
};

TEST_F(CpuAllocator, CountsExactlyTheBytesAskedFor) {
  const uint64_t before = held();
  for (const size_t bytes : {size_t{1}, size_t{63}, size_t{64}, size_t{4097}, size_t{1} << 20}) {
    const c10::DataPtr block = c10::GetCPUAllocator()->allocate(bytes);
    EXPECT_EQ(held() - before, bytes);
  }
  EXPECT_EQ(held(), before);
}

TEST_F(CpuAllocator, BlocksAreAlignedAndWritable) {
  for (size_t bytes = 1; bytes < 5000; bytes += 97) {
    const c10::DataPtr block = c10::GetCPUAllocator()->allocate(bytes);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(block.get()) % 64, 0u);
    std::memset(block.get(), 0xab, bytes);
  }
}

TEST_F(CpuAllocator, ZeroBytesAreNotAllocated) {
  const uint64_t before = held();
  const c10::DataPtr block = c10::GetCPUAllocator()->allocate(0);
  EXPECT_EQ(block.get(), nullptr);
  EXPECT_EQ(held(), before);
  EXPECT_EQ(at::empty({0, 5}).numel(), 0);
}

TEST_F(CpuAllocator, ThePeakIsTheHighestSoFar) {
  { const c10::DataPtr block = c10::GetCPUAllocator()->allocate(64 << 20); }
  const uint64_t peak = cpu_allocator_totals().peak_allocated_bytes;
  EXPECT_GE(peak, held() + (64u << 20));
  { const c10::DataPtr block = c10::GetCPUAllocator()->allocate(1 << 20); }
  EXPECT_EQ(cpu_allocator_totals().peak_allocated_bytes, peak);
  const uint64_t more = peak - held() + 1;
  { const c10::DataPtr block = c10::GetCPUAllocator()->allocate(more); }
  EXPECT_EQ(cpu_allocator_totals().peak_allocated_bytes, peak + 1);
}

TEST_F(CpuAllocator, AnImpossibleAllocationIsAnOutOfMemoryErrorAndIsNotCounted) {
  const AllocatorTotals before = cpu_allocator_totals();
  for (const size_t bytes : {std::numeric_limits<size_t>::max(), std::numeric_limits<size_t>::max() - 10,
                             size_t{1} << 62, size_t{1} << 46}) {
    EXPECT_THROW(c10::GetCPUAllocator()->allocate(bytes), c10::OutOfMemoryError) << bytes;
  }
  EXPECT_EQ(held(), before.allocated_bytes);
  EXPECT_EQ(cpu_allocator_totals().peak_allocated_bytes, before.peak_allocated_bytes);
}

TEST_F(CpuAllocator, WhatOneThreadIsRefusedIsNotInTheWayOfAnother) {
  static std::atomic<int> asked{0};  // to free memory
  const uint64_t before = held();
  set_memory_limit(before + (1 << 20));
  set_free_memory([](uint64_t) { ++asked; });
  std::atomic<int> refusals{0};
  std::atomic<bool> is_done{false};
  std::vector<std::thread> refused;
  for (int i = 0; i < 4; ++i) {
    refused.emplace_back([&] {
      for (; !is_done; ++refusals) {
        EXPECT_THROW(c10::GetCPUAllocator()->allocate(before + (2 << 20)), MemoryLimitError);
      }
    });
  }
  while (refusals < 30'000) {
    for (int i = 0; i < 100; ++i) EXPECT_NO_THROW(c10::GetCPUAllocator()->allocate(1000));
  }
  is_done = true;
  for (std::thread& thread : refused) thread.join();
  set_free_memory(nullptr);
  set_memory_limit(kNoLimit);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(held(), before);
}

TEST_F(CpuAllocator, AFailureThatWasLostCanBeThrownAgain) {
  clear_allocation_failure();
  EXPECT_NO_THROW(rethrow_allocation_failure());
  const uint64_t before = held();
  set_memory_limit(before + 1000);
  EXPECT_THROW(c10::GetCPUAllocator()->allocate(2000), MemoryLimitError);
  std::thread([] { EXPECT_NO_THROW(rethrow_allocation_failure()); }).join();  // a failure is per thread
  EXPECT_THROW(rethrow_allocation_failure(), MemoryLimitError);
  set_memory_limit(kNoLimit);
  EXPECT_THROW(c10::GetCPUAllocator()->allocate(std::numeric_limits<size_t>::max()), c10::OutOfMemoryError);
  EXPECT_THROW(rethrow_allocation_failure(), ExhaustedError);
  clear_allocation_failure();
  EXPECT_NO_THROW(rethrow_allocation_failure());
  EXPECT_EQ(held(), before);
}

TEST_F(CpuAllocator, TensorsOfLibtorchPassThroughIt) {
  const uint64_t before = held();
  {
    at::Tensor tensor = at::ones({1000});
    EXPECT_EQ(held() - before, 4000u);
    tensor.resize_({2000});
    EXPECT_EQ(held() - before, 8000u);
    const at::Tensor view = tensor.slice(0, 0, 10);
    EXPECT_EQ(held() - before, 8000u);
  }
  EXPECT_EQ(held(), before);
}

TEST_F(CpuAllocator, RawBlocksAreCounted) {
  const uint64_t before = held();
  void* block = c10::GetCPUAllocator()->raw_allocate(100);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(held() - before, 100u);
  c10::GetCPUAllocator()->raw_deallocate(block);
  EXPECT_EQ(held(), before);
}

TEST_F(CpuAllocator, BlocksMayBeFreedOnOtherThreads) {
  const uint64_t before = held();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i) {
        c10::DataPtr block = c10::GetCPUAllocator()->allocate(static_cast<size_t>(i) + 1);
        if (i % 100 == 0) std::thread([moved = std::move(block)] {}).join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(held(), before);
}

TEST(LargeBlocks, EveryClassHoldsItsSizesWithAtMostAnEighthMore) {
  size_t last = 0;
  for (size_t data = LargeBlocks::kMinData + 1; data <= LargeBlocks::kMaxData; data += 61) {
    const auto size = LargeBlocks::class_of(data);
    ASSERT_GE(size.capacity, data);
    ASSERT_LE(size.capacity - data, data / 8);
    ASSERT_GE(size.index, last);
    ASSERT_EQ(LargeBlocks::class_of(size.capacity).index, size.index);
    last = size.index;
  }
  EXPECT_EQ(LargeBlocks::class_of(LargeBlocks::kMaxData).capacity, LargeBlocks::kMaxData);
  EXPECT_FALSE(LargeBlocks::takes(LargeBlocks::kMinData));
  EXPECT_FALSE(LargeBlocks::takes(LargeBlocks::kMaxData + 1));
}

TEST(LargeBlocks, GivesTheNewestOfTheSizeAndFreesTheOldestOfAll) {
  static std::vector<void*> freed;
  freed.clear();
  const auto big = LargeBlocks::class_of(LargeBlocks::kMaxData);
  const auto small = LargeBlocks::class_of(5000);
  std::vector<std::vector<char>> memory(4, std::vector<char>(256));
  {
    LargeBlocks blocks([](void* block) { freed.push_back(block); });
    EXPECT_EQ(blocks.take(small), nullptr);
    blocks.keep(memory[0].data(), small);
    blocks.keep(memory[1].data(), big);
    blocks.keep(memory[2].data(), small);
    EXPECT_EQ(blocks.bytes(), big.capacity + 2 * small.capacity);
    blocks.keep(memory[3].data(), big);  // no room: the oldest two end
    EXPECT_EQ(freed, (std::vector<void*>{memory[0].data(), memory[1].data()}));
    EXPECT_EQ(blocks.take(small), memory[2].data());
    EXPECT_EQ(blocks.take(small), nullptr);
    EXPECT_EQ(blocks.bytes(), big.capacity);
  }
  EXPECT_EQ(freed.size(), 3u);
  EXPECT_EQ(freed.back(), memory[3].data());
}

}  // namespace
}  // namespace ltn::accounting
