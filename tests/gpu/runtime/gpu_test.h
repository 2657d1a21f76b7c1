// What the tests on a real GPU have in common.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "parallelism/exec/device.h"

namespace parabench::exec {

/// Skips, with what look_for_gpus() finds in the way, where there is no GPU.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override;
};

/// GPU 0, for a rank of its own.
std::unique_ptr<Device> first_gpu(MemoryAccount& account, Precision precision = Precision::fp32);

}  // namespace parabench::exec
