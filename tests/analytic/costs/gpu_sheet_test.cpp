#include "analytic/costs/gpu_sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parabench::analytic {
namespace {

using ::testing::HasSubstr;

std::string_view row(const char* name, int capability) {
  const GpuInfo gpu{.name = name, .capability = capability};
  return gpu_sheet(&gpu).name;
}

TEST(GpuSheet, IsFoundByTheDriversName) {
  EXPECT_EQ(row("NVIDIA H200", 90), "H200");
  EXPECT_EQ(row("NVIDIA H100 80GB HBM3", 90), "H100");
  EXPECT_EQ(row("NVIDIA H100 PCIe", 90), "H100 PCIe");
  EXPECT_EQ(row("NVIDIA H100 NVL", 90), "H100 NVL");
  EXPECT_EQ(row("NVIDIA A100-SXM4-80GB", 80), "A100-SXM4-80GB");
  EXPECT_EQ(row("NVIDIA A100-SXM4-40GB", 80), "A100-SXM4-40GB");
  EXPECT_EQ(row("NVIDIA A100 80GB PCIe", 80), "A100 80GB PCIe");
  EXPECT_EQ(row("NVIDIA A100-PCIE-40GB", 80), "A100");
  EXPECT_EQ(row("Tesla V100-SXM2-32GB", 70), "V100-SXM2");
  EXPECT_EQ(row("NVIDIA A10", 86), "A10");
  EXPECT_EQ(row("Tesla T4", 75), "T4");
}

TEST(GpuSheet, OthersGetASlowOneOfTheirCapability) {
  EXPECT_EQ(row("NVIDIA RTX A1000 Laptop GPU", 86), "A10");
  EXPECT_EQ(row("NVIDIA A10G", 86), "A10");
  EXPECT_EQ(row("NVIDIA T400", 75), "T4");
  EXPECT_EQ(row("NVIDIA GH200 480GB", 90), "H100 PCIe");
  EXPECT_EQ(row("NVIDIA B200", 100), "H100 PCIe");
  const GpuInfo unknown{.name = "NVIDIA L4", .capability = 89};
  EXPECT_THAT(gpu_sheet_text(&unknown), AllOf(HasSubstr("NVIDIA L4"), HasSubstr("8.9"), HasSubstr("A10")));
  EXPECT_THAT(gpu_sheet_text(nullptr), AllOf(HasSubstr("no GPU known"), HasSubstr("A10")));
}

TEST(GpuSheet, NarrowerTypesAreFasterAndTheWorkspaceFollowsTheCapability) {
  const GpuInfo h200{.name = "NVIDIA H200", .capability = 90}, a100{.name = "NVIDIA A100-SXM4-40GB", .capability = 80};
  for (const GpuInfo* gpu : {&h200, &a100}) {
    const GpuRates& rates = gpu_sheet(gpu).rates;
    EXPECT_GT(peak_flops(rates, Precision::bf16), peak_flops(rates, Precision::tf32));
    EXPECT_GT(peak_flops(rates, Precision::tf32), peak_flops(rates, Precision::fp32));
    EXPECT_GT(peak_flops(rates, Precision::fp32), peak_flops(rates, Precision::fp64));
  }
  EXPECT_EQ(matrix_workspace_bytes(&h200), 33'554'432);
  EXPECT_EQ(matrix_workspace_bytes(&a100), 8'519'680);
}

}  // namespace
}  // namespace parabench::analytic
