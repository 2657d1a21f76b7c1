// Marks of a real GPU's queue.
#include "base/clock.h"

#include <cuda_runtime_api.h>

#include <vector>

#include "tests/gpu/runtime/gpu_test.h"

namespace parabench::exec {
namespace {

class GpuClock : public GpuTest {};

/// A clock tied to the host's by the best of several looks is off by half of that look at most, which takes some 10 us.
constexpr double tolerance_s = 100e-6;

TEST_F(GpuClock, MarksComeInOrderAndBetweenTheHostsTimes) {
  MemoryAccount account;
  const auto device = first_gpu(account);
  device->enter(/*computes=*/true);
  const torch::Tensor data = torch::zeros({1 << 20}, torch::TensorOptions(torch::kFloat32).device(device->where()));
  for (int round = 0; round < 3; ++round) {
    const double begin = now_s();
    std::vector<Mark> marks;
    for (int i = 0; i < 1500; ++i) {
      marks.push_back(device->mark());
      data.add_(1);
    }
    marks.push_back(device->mark());
    device->synchronise();
    const double end = now_s();
    EXPECT_GE(device->seconds(marks.front()), begin - tolerance_s);
    EXPECT_LE(device->seconds(marks.back()), end + tolerance_s);
    for (std::size_t i = 1; i < marks.size(); ++i) EXPECT_LT(device->seconds(marks[i - 1]), device->seconds(marks[i]));
  }
}

TEST_F(GpuClock, AMarkThatIsNotReachedBreaksNoLaterKernel) {
  MemoryAccount account;
  const auto device = first_gpu(account);
  device->enter(/*computes=*/true);
  const auto options = torch::TensorOptions(torch::kFloat32).device(device->where());
  const torch::Tensor large = torch::rand({8192, 8192}, options);
  const torch::Tensor product = large.mm(large);
  const Mark mark = device->mark();
  EXPECT_FALSE(device->reached(mark)) << "the product should have taken longer than the look";
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(torch::ones({7}, options).sum().item<float>(), 7);
  device->synchronise();
  EXPECT_TRUE(device->reached(mark));
}

}  // namespace
}  // namespace parabench::exec
