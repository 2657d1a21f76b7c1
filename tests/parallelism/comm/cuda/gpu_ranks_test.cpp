// The code that talks to CUDA and NCCL, on the fake of both: what every communicator must do. A build with CUDA only.
#include "tests/parallelism/comm/cuda/gpu_ranks.h"

#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <tuple>

#include "parallelism/comm/threads/world.h"
#include "tests/parallelism/comm/conformance.h"
#include "tests/parallelism/comm/cuda/fake_nccl.h"
#include "tests/parallelism/comm/cuda/on_device.h"

namespace parabench::comm {
namespace {

struct Arrival {
  std::latch& latch;
  ~Arrival() { latch.arrive_and_wait(); }
};

class GpuRanks : public testing::TestWithParam<std::tuple<CommunicatorMaker, int, ConformanceCase>> {};

TEST_P(GpuRanks, conform) {
  const auto& [make, ranks, expectation] = GetParam();
  // An expectation that breaks its group must not reach a rank that is still making or already ending its communicator.
  std::latch made(ranks), met(ranks);
  set_peer_access_for(make);
  run_thread_ranks({ranks, conformance_groups(ranks)}, [&](Communicator& host) {
    const auto comm = make(host);
    made.arrive_and_wait();
    const Arrival at_end{met};
    OnDevice device(*comm);
    expectation.run(device);
  });
  EXPECT_EQ(fake_nccl().communicators, 0);
}

INSTANTIATE_TEST_SUITE_P(all, GpuRanks,
                         testing::Combine(testing::ValuesIn(communicator_makers()), testing::Values(1, 2, 3, 4),
                                          testing::ValuesIn(conformance_cases().begin(), conformance_cases().end())),
                         [](const auto& instance) {
                           return std::string(std::get<2>(instance.param).name) + "_" +
                                  name_of(std::get<0>(instance.param)) + "_" +
                                  std::to_string(std::get<1>(instance.param)) + "_ranks";
                         });

}  // namespace
}  // namespace parabench::comm
