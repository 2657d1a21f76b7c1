// Our own kernels against the library's.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <limits>

#include "models/torch/autocast.h"
#include "models/torch/max_pool.h"
#include "models/torch/small_convolution.h"

namespace parabench {
namespace {

using torch::Tensor;

Tensor random_map(int samples, int channels, int height, int width) {
  return torch::randn({samples, channels, height, width}, torch::dtype(torch::kFloat64).requires_grad(true));
}

Tensor random_weight(const Conv2d& op) {
  return torch::randn({op.out, op.in, op.kernel, op.kernel}, torch::dtype(torch::kFloat64).requires_grad(true));
}

struct Gradients {
  Tensor y, dx, dw;
};
/// Output of `convolve(x, w)` and the gradients under a fixed upstream gradient, on fresh leaves.
template <class Convolve>
Gradients gradients(Convolve convolve, const Tensor& x, const Tensor& w) {
  const Tensor leaf_x = x.detach().requires_grad_(), leaf_w = w.detach().requires_grad_();
  const Tensor y = convolve(leaf_x, leaf_w);
  y.backward(torch::arange(1, y.numel() + 1, torch::kFloat64).view_as(y).sin());
  return {y, leaf_x.grad(), leaf_w.grad()};
}

TEST(SmallConvolution, IsTheLibrarysConvolutionAndGradients) {
  torch::manual_seed(1);
  for (int kernel : {1, 3, 5})
    for (int padding = 0; padding < kernel; ++padding)
      for (int stride : {1, 2, 3})
        for (const auto& [height, width] : {std::pair{1, 1}, {2, 2}, {1, 3}, {4, 3}}) {
          if (std::min(height, width) + 2 * padding < kernel) continue;
          const Conv2d op{3, 4, kernel, stride, padding};
          const Tensor x = random_map(2, op.in, height, width), w = random_weight(op);
          const Gradients ours = gradients([&](auto& a, auto& b) { return small_convolution(op, a, b); }, x, w);
          const Gradients expected =
              gradients([&](auto& a, auto& b) { return at::conv2d(a, b, {}, stride, padding); }, x, w);
          const std::string where = testing::PrintToString(std::tuple(kernel, padding, stride, height, width));
          ASSERT_EQ(ours.y.sizes(), expected.y.sizes()) << where;
          EXPECT_TRUE(ours.y.is_contiguous()) << where;
          EXPECT_TRUE(at::allclose(ours.y, expected.y, 1e-12, 1e-12)) << where;
          EXPECT_TRUE(at::allclose(ours.dx, expected.dx, 1e-12, 1e-12)) << where;
          EXPECT_TRUE(at::allclose(ours.dw, expected.dw, 1e-12, 1e-12)) << where;
        }
}

TEST(SmallConvolution, AddsIntoTheGradientThatExists) {
  for (int side : {1, 2}) {  // one pixel: one tap of the kernel
    const Conv2d op{3, 4, 3, 1, 1};
    const Tensor x = random_map(2, op.in, side, side), w = random_weight(op);
    small_convolution(op, x, w).sum().backward();
    const Tensor once = w.grad().clone();
    const void* storage = w.grad().const_data_ptr();
    small_convolution(op, x, w).sum().backward();
    EXPECT_EQ(w.grad().const_data_ptr(), storage);
    EXPECT_TRUE(at::allclose(w.grad(), 2 * once, 1e-12, 1e-12));
  }
}

TEST(SmallConvolution, FirstLayerComputesTheWeightGradientAlone) {
  const Conv2d op{3, 4, 3, 1, 1};
  const Tensor x = random_map(2, op.in, 2, 2).detach(), w = random_weight(op);
  small_convolution(op, x, w).sum().backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(w.grad().defined());
}

TEST(SmallConvolution, WeightChangedBeforeItsBackwardIsRefused) {
  const Conv2d op{3, 4, 3, 1, 1};
  const Tensor x = random_map(2, op.in, 2, 2), w = random_weight(op);
  const Tensor y = small_convolution(op, x, w);
  {
    const torch::NoGradGuard no_grad;
    w.mul_(2);
  }
  EXPECT_THROW(y.sum().backward(), c10::Error);
}

TEST(SmallConvolution, IsChosenForSmallPlainMapsOnly) {
  const Conv2d op{8, 8, 3, 1, 1};
  const Tensor w = random_weight(op), x = random_map(2, 8, 2, 2);
  EXPECT_TRUE(is_small_convolution(op, x, w));
  EXPECT_FALSE(is_small_convolution(op, random_map(2, 8, 3, 2), w));
  EXPECT_FALSE(is_small_convolution(op, random_map(1000, 8, 2, 2), w));
  EXPECT_FALSE(is_small_convolution(op, x.to(torch::kFloat32), w));
  EXPECT_FALSE(is_small_convolution(op, x.contiguous(at::MemoryFormat::ChannelsLast), w));
  const AutocastGuard autocast(true);
  EXPECT_FALSE(is_small_convolution(op, x, w));
}

Tensor pool_gradient(const Tensor& pooled, const Tensor& leaf) {
  pooled.backward(torch::arange(1, pooled.numel() + 1, torch::kFloat64).view_as(pooled));
  return leaf.grad();
}

void expect_pools_like_the_library(const MaxPool& op, const Tensor& values) {
  const Tensor a = values.clone().requires_grad_(), b = values.clone().requires_grad_();
  const Tensor ours = max_pool(op, a), expected = at::max_pool2d(b, op.kernel, op.stride, op.padding);
  ASSERT_EQ(ours.sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(ours, expected, 0, 0, /*equal_nan=*/true));
  EXPECT_TRUE(pool_gradient(ours, a).equal(pool_gradient(expected, b)));
}

TEST(MaxPool, IsTheLibrarysPoolAndGradients) {
  torch::manual_seed(1);
  for (const auto& [kernel, stride, padding] : {std::tuple{3, 2, 1}, {2, 2, 0}, {3, 1, 1}, {3, 3, 0}, {5, 2, 2}})
    for (const auto& [height, width] : {std::pair{16, 16}, {7, 10}, {5, 5}, {3, 8}})
      expect_pools_like_the_library({kernel, stride, padding}, torch::randn({2, 3, height, width}, torch::kFloat64));
}

TEST(MaxPool, TiesAndSpecialValuesAreTheLibrarys) {
  const Tensor ties = torch::randint(0, 3, {2, 3, 9, 9}).to(torch::kFloat64);
  expect_pools_like_the_library({3, 2, 1}, ties);
  for (double special : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::infinity()})
    expect_pools_like_the_library({3, 2, 1}, ties.masked_fill(ties == 1, special));
  expect_pools_like_the_library(
      {3, 2, 1}, torch::full({1, 1, 5, 5}, -std::numeric_limits<double>::infinity()).to(torch::kFloat64));
}

TEST(MaxPool, OtherLayoutsGoToTheLibrary) {
  const MaxPool op{3, 2, 1};
  const Tensor x = torch::randn({2, 8, 9, 9});
  const Tensor last = max_pool(op, x.contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(last.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(last.equal(max_pool(op, x)));
}

}  // namespace
}  // namespace parabench
