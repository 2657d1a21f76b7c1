#include "parallelism/exec/memory.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <thread>

namespace parabench::exec {
namespace {

TEST(MemoryAccount, CountsBytesWhereTheyAreHandedOut) {
  static MemoryAccount account;
  torch::Tensor kept;
  {
    AccountScope scope(account, MemoryCategory::activations);
    kept = torch::empty({1000}, torch::kFloat32);
    torch::empty({500}, torch::kFloat32);
  }
  EXPECT_EQ(account.live(), 4000);
  EXPECT_EQ(account.peak()[MemoryCategory::activations], 6000);
  kept.reset();
  EXPECT_EQ(account.live(), 0);
}

TEST(MemoryAccount, ReportsTheCategoriesAtTheInstantOfTheTotalsPeak) {
  MemoryAccount account;
  account.add(MemoryCategory::activations, 100);
  account.add(MemoryCategory::workspace, 50);
  account.remove(MemoryCategory::activations, 100);
  account.add(MemoryCategory::workspace, 60);
  EXPECT_EQ(account.peak()[MemoryCategory::activations], 100);
  EXPECT_EQ(account.peak()[MemoryCategory::workspace], 50);
  account.reset_peak();
  EXPECT_EQ(account.peak().total_counted(), 110);
}

TEST(MemoryAccount, ABlockStaysWithItsAccountWhoeverFreesIt) {
  static MemoryAccount account;
  torch::Tensor tensor;
  {
    AccountScope scope(account, MemoryCategory::communication);
    tensor = torch::empty({256}, torch::kUInt8);
  }
  recategorise(tensor.data_ptr(), MemoryCategory::activations);
  EXPECT_EQ(account.live(), 256);
  std::thread([t = std::move(tensor)]() mutable { t.reset(); }).join();
  EXPECT_EQ(account.live(), 0);
}

TEST(MemoryAccount, AWindowHasAPeakOfItsOwn) {
  MemoryAccount account;
  account.add(MemoryCategory::workspace, 500);
  account.remove(MemoryCategory::workspace, 400);
  account.begin_window();
  account.add(MemoryCategory::workspace, 50);
  EXPECT_EQ(account.window_peak(), 150);
  EXPECT_EQ(account.peak().total_counted(), 500);
}

TEST(CountingAllocator, AlignsEveryBlockToACacheLine) {
  for (int n : {1, 3, 65, 4097}) {
    const auto address = reinterpret_cast<std::uintptr_t>(torch::empty({n}, torch::kUInt8).data_ptr());
    EXPECT_EQ(address % 64, 0u);
  }
}

}  // namespace
}  // namespace parabench::exec
