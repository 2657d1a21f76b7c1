// Memory of a real GPU: what the account counts, what the allocator holds, and what its model says.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "analytic/memory/caching_allocator.h"
#include "tests/gpu/runtime/gpu_test.h"

namespace parabench::exec {
namespace {

class GpuMemory : public GpuTest {};

torch::Tensor bytes_on(const Device& device, std::int64_t bytes) {
  return torch::empty({bytes}, torch::TensorOptions(torch::kUInt8).device(device.where()));
}

TEST_F(GpuMemory, TensorsCountByCategoryWithTheBytesAskedForUntilTheyAreFreed) {
  MemoryAccount account;
  const auto device = first_gpu(account);
  device->enter(/*computes=*/true);
  torch::Tensor kept, made;
  {
    const CountScope scope(*device, MemoryCategory::activations);
    kept = bytes_on(*device, 1'000'001);
  }
  {
    const CountScope scope(*device, MemoryCategory::workspace);
    made = bytes_on(*device, 300);
  }
  // The allocator rounds up to 512 bytes what it takes; the account may follow the request or the block.
  EXPECT_GE(account.peak()[MemoryCategory::activations], 1'000'001);
  EXPECT_LT(account.peak()[MemoryCategory::activations], 1'000'001 + 512);
  EXPECT_GE(account.peak()[MemoryCategory::workspace], 300);
  device->recategorise(made, MemoryCategory::gradients);
  account.reset_peak();
  EXPECT_EQ(account.peak()[MemoryCategory::workspace], 0);
  EXPECT_GE(account.peak()[MemoryCategory::gradients], 300);
  kept.reset();
  made.reset();
  EXPECT_EQ(account.live(), 0);
}

TEST_F(GpuMemory, RanksThatShareAGpuCountApart) {
  MemoryAccount first_account, second_account;
  const auto first = first_gpu(first_account), second = first_gpu(second_account);
  std::jthread([&] {
    second->enter(/*computes=*/true);
    const torch::Tensor theirs = bytes_on(*second, 64 << 20);
    EXPECT_GE(second_account.live(), 64 << 20);
    EXPECT_EQ(first_account.live(), 0);
    EXPECT_GE(second->peak_reserved(), 64 << 20);
    EXPECT_EQ(first->peak_reserved(), 0);
  }).join();
}

TEST_F(GpuMemory, WhatTheCommunicatingThreadReceivesLeavesTheComputingOnesCategoryAlone) {
  MemoryAccount account;
  const auto device = first_gpu(account);
  device->enter(/*computes=*/true);
  const CountScope scope(*device, MemoryCategory::activations);
  torch::Tensor received;
  std::jthread([&] {
    device->enter(/*computes=*/false);
    const CountScope receiving(*device, MemoryCategory::communication);
    received = bytes_on(*device, 3 << 20);
  }).join();
  const torch::Tensor made = bytes_on(*device, 5 << 20);
  EXPECT_EQ(account.peak()[MemoryCategory::communication], 3 << 20);
  EXPECT_EQ(account.peak()[MemoryCategory::activations], 5 << 20);
}

TEST_F(GpuMemory, WhatLiesOutsideTheAllocatorIsNeverNegativeWhileOthersAllocate) {
  MemoryAccount account, other_account;
  const auto device = first_gpu(account), other = first_gpu(other_account);
  std::atomic<bool> stop = false;
  std::jthread busy([&] {
    other->enter(/*computes=*/true);
    while (!stop) {
      bytes_on(*other, std::int64_t{2} << 30);  // more than a context takes
      other->release_unused();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // a look needs a moment in which nothing changes
    }
  });
  for (int look = 0; look < 100; ++look) EXPECT_GE(device->outside_allocator(), 0);
  stop = true;
}

TEST_F(GpuMemory, ReservedMemoryIsThatOfTheModelForARandomSequence) {
  MemoryAccount account;
  const auto device = first_gpu(account);
  device->enter(/*computes=*/true);
  device->release_unused();
  device->reset_peaks();
  analytic::CachingAllocator model;
  struct Held {
    torch::Tensor tensor;
    int number;  ///< of the model
  };
  std::vector<Held> held;
  std::mt19937 random(5);
  for (int i = 0; i < 400; ++i) {
    if (!held.empty() && random() % 5 < 2) {
      std::swap(held[random() % held.size()], held.back());
      model.free(held.back().number);
      held.pop_back();
      continue;
    }
    // Of every order of magnitude from bytes to 64 MiB.
    const std::int64_t bytes = 1 + static_cast<std::int64_t>(random() % (std::uint64_t{1} << (6 + random() % 21)));
    held.push_back({bytes_on(*device, bytes), model.allocate(bytes)->number});
  }
  EXPECT_EQ(device->peak_reserved(), model.usage().reserved_peak);
}

}  // namespace
}  // namespace parabench::exec
