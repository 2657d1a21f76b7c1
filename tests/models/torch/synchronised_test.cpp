// Batch norms whose statistics are added up over pieces, against ATen's batch norm of all samples at once.

#include <gmock/gmock.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <vector>

#include "models/torch/layer.h"
#include "models/torch/tensor.h"
#include "tests/models/torch/network.h"

namespace parabench::models {
namespace {

constexpr int channels = 6;

/// The norm's two halves: what makes statistics, and what reads their sums.
const LayerSpec statistics = chain("sums", {{"sums", BatchStatistics{channels}}});
LayerSpec norm_by() {
  LayerSpec layer = chain("by", {{"norm", BatchNormBy{channels}}});
  layer.takes = {{"x", {channels, 3, 5}}};
  layer.nodes[0].inputs = {taken_value(0), layer_input};
  return layer;
}

/// What training by pieces of `sizes` samples makes of a batch.
struct Trained {
  torch::Tensor y, dx, dweight, dbias, mean, variance;
};

Trained by_pieces(const torch::Tensor& x, const torch::Tensor& gradient, const std::vector<std::int64_t>& sizes) {
  const LayerSpec by = norm_by();
  modules::LayerTensors tensors = modules::allocate_tensors(by, x.scalar_type());
  const torch::NoGradGuard no_grad;
  for (int p = 0; p < 2; ++p) tensors.parameters[p].copy_(pattern(p, channels) + 1);
  Trained result;
  torch::Tensor sum;
  std::vector<torch::Tensor> pieces, sums;
  {
    const torch::AutoGradMode grad(true);
    for (const torch::Tensor& piece : x.split_with_sizes(sizes)) {
      pieces.push_back(piece.detach().clone(at::MemoryFormat::Preserve).requires_grad_());
      sums.push_back(modules::forward(statistics, {}, pieces.back()));
      EXPECT_EQ(sums.back().sizes(), modules::sizes_of(statistics_tensor(channels), 99));
    }
  }
  for (const torch::Tensor& own : sums) sum = sum.defined() ? sum + own : own.detach().clone();
  torch::Tensor dsum = torch::zeros_like(sum);
  std::vector<torch::Tensor> ys, dxs, through;
  const auto gradients = gradient.split_with_sizes(sizes);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const torch::AutoGradMode grad(true);
    const torch::Tensor taken = pieces[i].detach().requires_grad_(), read = sum.detach().clone().requires_grad_();
    modules::Ports ports{{"x", taken}};
    // Every rank has running statistics of its own, which all come to the same.
    modules::LayerTensors own = tensors;
    for (torch::Tensor& buffer : own.buffers) buffer = buffer.clone();
    const torch::Tensor y = modules::forward(by, own, read, ports);
    torch::autograd::backward({y}, {gradients[i].contiguous()});
    ys.push_back(y.detach());
    dsum += read.grad();
    through.push_back(taken.grad());
    EXPECT_TRUE(!result.mean.defined() || result.mean.equal(own.buffers[0]));
    result.mean = own.buffers[0];
    result.variance = own.buffers[1];
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    torch::autograd::backward({sums[i]}, {dsum});
    dxs.push_back(pieces[i].grad() + through[i]);
  }
  result.y = at::cat(ys);
  result.dx = at::cat(dxs);
  result.dweight = tensors.parameters[0].grad();
  result.dbias = tensors.parameters[1].grad();
  return result;
}

Trained at_once(const torch::Tensor& x, const torch::Tensor& gradient) {
  const torch::Tensor in = x.detach().clone().requires_grad_();
  const auto leaf = [&](int p) { return (pattern(p, channels) + 1).to(x.scalar_type()).requires_grad_(); };
  const torch::Tensor weight = leaf(0), bias = leaf(1);
  Trained result;
  result.mean = torch::zeros({channels}, x.options());
  result.variance = torch::ones({channels}, x.options());
  const torch::Tensor y = at::batch_norm(in, weight, bias, result.mean, result.variance, true, 0.1, 1e-5, true);
  torch::autograd::backward({y}, {gradient});
  result.y = y.detach();
  result.dx = in.grad();
  result.dweight = weight.grad();
  result.dbias = bias.grad();
  return result;
}

double difference(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor wide = b.to(torch::kFloat64);
  return ((a.to(torch::kFloat64) - wide).abs().max() / wide.abs().max()).item<double>();
}

double largest_difference(const Trained& a, const Trained& b) {
  double largest = 0;
  for (torch::Tensor Trained::*what :
       {&Trained::y, &Trained::dx, &Trained::dweight, &Trained::dbias, &Trained::mean, &Trained::variance})
    largest = std::max(largest, difference(a.*what, b.*what));
  return largest;
}

torch::Tensor map(int samples, double mean) {
  torch::manual_seed(3);
  const torch::Tensor scale = torch::rand({1, channels, 1, 1}, torch::kFloat64) + 0.5;
  return torch::randn({samples, channels, 3, 5}, torch::kFloat64) * scale + mean;
}

TEST(SynchronisedNorm, OfPiecesIsTheNormOfTheWholeBatch) {
  const torch::Tensor gradient = torch::randn({9, channels, 3, 5}, torch::kFloat64);
  for (const double mean : {0.0, 3.0, 1000.0}) {
    for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      const torch::Tensor x = map(9, mean).contiguous(format);
      const Trained expected = at_once(x, gradient);
      for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{9}, {5, 4}, {3, 2, 4}, {1, 8}})
        EXPECT_LE(largest_difference(by_pieces(x, gradient, sizes), expected), mean == 1000 ? 1e-8 : 1e-11) << mean;
    }
  }
}

TEST(SynchronisedNorm, InSinglePrecisionIsAsGoodAsTheNormItself) {
  const torch::Tensor gradient = torch::randn({9, channels, 3, 5}, torch::kFloat64);
  for (const double mean : {0.0, 3.0, 30.0}) {
    const torch::Tensor x = map(9, mean).to(torch::kFloat32).to(torch::kFloat64);
    const Trained exact = at_once(x, gradient);
    const auto narrow = [&](auto train) { return train(x.to(torch::kFloat32), gradient.to(torch::kFloat32)); };
    const double usual = largest_difference(narrow(at_once), exact);
    const double ours = largest_difference(narrow([](const torch::Tensor& in, const torch::Tensor& of) {
                                             return by_pieces(in, of, {5, 4});
                                           }),
                                           exact);
    EXPECT_LE(ours, std::max(10 * usual, 1e-5)) << mean << ", ATen " << usual;
  }
}

TEST(SynchronisedNorm, RecomputingLeavesRunningStatisticsAlone) {
  const LayerSpec by = norm_by();
  const modules::LayerTensors tensors = modules::allocate_tensors(by, torch::kFloat64);
  const torch::Tensor x = map(4, 2), sum = modules::forward(statistics, {}, x);
  modules::Ports ports{{"x", x}};
  modules::forward(by, tensors, sum, ports, {.update_statistics = false});
  EXPECT_TRUE(tensors.buffers[0].equal(torch::zeros({channels}, torch::kFloat64)));
  ports = {{"x", x}};
  modules::forward(by, tensors, sum, ports);
  EXPECT_NEAR(tensors.buffers[0][0].item<double>(), 0.2, 0.05);
}

TEST(SynchronisedNorm, UnderBf16SumsAreOfTheWideValues) {
  const torch::Tensor x = map(8, 2).to(torch::kBFloat16);
  const torch::Tensor sums = modules::forward(statistics, {}, x);
  const torch::Tensor wide = x.to(torch::kFloat64);
  EXPECT_EQ(sums.scalar_type(), torch::kFloat64);
  EXPECT_LE(difference(sums.narrow(0, 0, channels), wide.sum({0, 2, 3})), 1e-6);
  EXPECT_LE(difference(sums.narrow(0, channels, channels), (wide * wide).sum({0, 2, 3})), 1e-6);
  EXPECT_EQ(sums[2 * channels].item<double>(), 8 * 3 * 5);
}

}  // namespace
}  // namespace parabench::models
