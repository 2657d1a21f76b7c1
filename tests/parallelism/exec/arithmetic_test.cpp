#include "parallelism/exec/arithmetic.h"

#include <ATen/ops/matmul.h>
#include <gtest/gtest.h>

#include "base/case_id.h"
#include "parallelism/exec/device_cpu.h"

namespace parabench::exec {
namespace {

Arithmetic on_processor(const std::string& keys, torch::ScalarType parameters = torch::kFloat32) {
  static MemoryAccount account;
  const std::unique_ptr<Device> device = cpu_device(account);
  return arithmetic_of(parse_case("resnet18/cifar10-synthetic/sequential/np:1/batch:4" + keys), parameters, *device);
}

TEST(Arithmetic, IsThatOfTheCaseOnTheProcessor) {
  EXPECT_EQ(on_processor(""), (Arithmetic{Precision::fp32, std::nullopt, Precision::fp32, Precision::fp32, ""}));
  EXPECT_EQ(on_processor("/precision:fp64", torch::kFloat64),
            (Arithmetic{Precision::fp64, std::nullopt, Precision::fp64, Precision::fp64, ""}));
  for (const char* layout : {"", "/layout:channels_last"})
    EXPECT_EQ(on_processor(std::string("/precision:bf16") + layout),
              (Arithmetic{Precision::fp32, Precision::bf16, Precision::bf16, Precision::bf16, ""}));
}

TEST(Arithmetic, SaysWhatADeviceCannotDo) {
  const Arithmetic used = on_processor("/precision:tf32");
  EXPECT_EQ(used.matmul, Precision::fp32);
  EXPECT_EQ(used.note, "precision:tf32 was asked for; on cpu products of matrices keep fp32, convolutions fp32");
}

/// What tensor cores do to single precision: factors lose the last 13 bits of their significand.
torch::Tensor narrowed(const torch::Tensor& matrix) {
  return matrix.view(torch::kInt32).bitwise_and(~((1 << 13) - 1)).view(torch::kFloat32);
}

TEST(Arithmetic, SeesWhatAProductDropsBehindItsTypes) {
  const Product tensor_cores = [](const torch::Tensor& left, const torch::Tensor& right) {
    return at::matmul(narrowed(left), narrowed(right));
  };
  const Product halves = [](const torch::Tensor& left, const torch::Tensor& right) {
    return at::matmul(left.to(torch::kBFloat16).to(torch::kFloat32), right);
  };
  EXPECT_EQ(precision_of(tensor_cores, torch::kFloat32), Precision::tf32);
  EXPECT_EQ(precision_of(halves, torch::kFloat32), Precision::bf16);
}

}  // namespace
}  // namespace parabench::exec
