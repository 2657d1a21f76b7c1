#include "parallelism/exec/arithmetic.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <fmt/format.h>
#include <torch/utils.h>

#include <cmath>
#include <stdexcept>

#include "base/case_text.h"
#include "models/torch/autocast.h"
#include "parallelism/exec/segment_runner.h"

namespace parabench::exec {
namespace {

constexpr int side = 256, image_side = 16;  ///< as large as layers are, so that a GPU takes its fast units
constexpr int widest = 52;                  ///< bits of a double's significand

Precision precision_of(torch::ScalarType type) {
  if (type == torch::kFloat64) return Precision::fp64;
  if (type == torch::kFloat32) return Precision::fp32;
  if (type == torch::kBFloat16) return Precision::bf16;
  throw std::logic_error(fmt::format("{} is no type of a case", c10::toString(type)));
}

double test_value(int bits) { return 1 + std::ldexp(1.0, -bits); }

/// On the diagonal 1 + 2^-k, k from 1 to 52 and again.
torch::Tensor test_matrix() {
  auto matrix = torch::zeros({side, side}, torch::kFloat64);
  for (int i = 0; i < side; ++i) matrix.data_ptr<double>()[i * side + i] = test_value(i % widest + 1);
  return matrix;
}

}  // namespace

Precision precision_of(const Product& product, const torch::TensorOptions& options) {
  const auto identity = torch::eye(side, torch::kFloat64).to(options);
  const auto result = product(test_matrix().to(options), identity).to(torch::kCPU, torch::kFloat64).diagonal();
  int bits = 0;
  while (bits < widest && result[bits].item<double>() == test_value(bits + 1)) ++bits;
  if (bits >= widest) return Precision::fp64;
  if (bits >= 23) return Precision::fp32;
  return bits >= 10 ? Precision::tf32 : Precision::bf16;
}

Arithmetic arithmetic_of(const Case& spec, std::optional<torch::ScalarType> parameters, Device& device) {
  torch::NoGradGuard no_grad;
  const torch::ScalarType type = master_type(spec.precision);
  const auto options = torch::TensorOptions(type).device(device.where());
  torch::ScalarType made = type;
  modules::AutocastGuard autocast(spec.precision == Precision::bf16, device.where().type());

  Arithmetic result;
  if (parameters) result.parameters = precision_of(*parameters);
  result.matmul = precision_of(
      [&](const torch::Tensor& left, const torch::Tensor& right) {
        const auto product = at::matmul(left, right);
        made = product.scalar_type();
        return product;
      },
      options);
  // The matrix is an image of 256 channels and 16 x 16 pixels, the identity a filter that leaves it as it is.
  result.convolution = precision_of(
      [&](const torch::Tensor& left, const torch::Tensor& right) {
        const auto format = memory_format(spec.layout);
        const auto image = left.view({1, side, image_side, image_side}).contiguous(format);
        const auto filter = right.view({side, side, 1, 1}).contiguous(format);
        return at::conv2d(image, filter).contiguous().view({side, side});
      },
      options);
  if (made != type) result.autocast = precision_of(made);
  if (result.matmul != spec.precision || result.convolution != spec.precision)
    result.note =
        fmt::format("precision:{} was asked for; on {} products of matrices keep {}, convolutions {}",
                    to_text(spec.precision), device.name(), to_text(result.matmul), to_text(result.convolution));
  return result;
}

}  // namespace parabench::exec
