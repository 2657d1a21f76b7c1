#include "tests/gpu/runtime/gpu_test.h"

#include "parallelism/comm/cuda/gpus.h"
#include "parallelism/exec/cuda/device_cuda.h"

namespace parabench::exec {

void GpuTest::SetUp() {
  const comm::GpuReport report = comm::look_for_gpus();
  if (!report.obstacle.empty()) GTEST_SKIP() << report.obstacle;
}

std::unique_ptr<Device> first_gpu(MemoryAccount& account, Precision precision) {
  return cuda_device(0, precision, /*tuned=*/false, account);
}

}  // namespace parabench::exec
