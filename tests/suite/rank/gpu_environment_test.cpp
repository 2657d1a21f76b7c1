#include "suite/rank/gpu_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/case_id.h"

namespace parabench::rank {
namespace {

constexpr const char* names[] = {"CUDA_DEVICE_MAX_CONNECTIONS", "NCCL_RUNTIME_CONNECT", "CUDA_MODULE_LOADING"};

class GpuEnvironment : public testing::Test {
 protected:
  GpuEnvironment() { clear(); }
  ~GpuEnvironment() override { clear(); }

  static void clear() {
    for (const char* name : names) unsetenv(name);
  }
  static std::string value(const char* name) {
    const char* const text = std::getenv(name);
    return text ? text : "";
  }
  static void set_for(const std::string& keys) {
    set_gpu_environment(parse_case("resnet18/cifar10-synthetic/gpipe/" + keys + "/device:cuda"));
  }
};

TEST_F(GpuEnvironment, LanesHaveQueuesOfTheirOwnAndNcclConnectsBeforeTheFirstStep) {
  set_for("np:1/batch:8");
  EXPECT_EQ(value("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
  EXPECT_EQ(value("NCCL_RUNTIME_CONNECT"), "0");
}

TEST_F(GpuEnvironment, KernelsAreLoadedAheadWhereNcclsMayWaitForAnotherRank) {
  set_for("np:1/batch:8/comm:nccl");
  EXPECT_EQ(value("CUDA_MODULE_LOADING"), "");
  set_for("np:2/batch:8/comm:threads");
  EXPECT_EQ(value("CUDA_MODULE_LOADING"), "") << "no kernel there waits for another rank's";
  set_for("np:2/batch:8/comm:nccl");
  EXPECT_EQ(value("CUDA_MODULE_LOADING"), "EAGER");
}

TEST_F(GpuEnvironment, WhatTheUserHasSetStays) {
  for (const char* name : names) setenv(name, "mine", 1);
  set_for("np:2/batch:8/comm:nccl");
  for (const char* name : names) EXPECT_EQ(value(name), "mine") << name;
}

}  // namespace
}  // namespace parabench::rank
