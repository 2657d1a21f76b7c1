// The conformance suite on buffers of a real GPU.
#include <cuda_runtime_api.h>

#include <latch>
#include <tuple>

#include "parallelism/comm/cuda/direct.h"
#include "parallelism/comm/cuda/nccl.h"
#include "parallelism/comm/cuda/staged.h"
#include "parallelism/comm/threads/world.h"
#include "tests/gpu/runtime/device_buffers.h"
#include "tests/gpu/runtime/gpu_test.h"
#include "tests/parallelism/comm/conformance.h"

namespace parabench::exec {
namespace {

struct Backend {
  const char* name;
  std::unique_ptr<comm::Communicator> (*make)(comm::Communicator& host);
  int ranks;  ///< all on GPU 0
};

std::unique_ptr<comm::Communicator> nccl(comm::Communicator& host) { return comm::make_nccl_communicator(host, 0); }
std::unique_ptr<comm::Communicator> direct(comm::Communicator& host) { return comm::make_direct_communicator(host, 0); }
std::unique_ptr<comm::Communicator> staged(comm::Communicator& host) { return comm::make_staged_communicator(host, 0); }

// NCCL wants a GPU for each of its ranks.
constexpr Backend backends[] = {{"nccl", nccl, 1},     {"direct", direct, 1}, {"direct", direct, 2},
                                {"direct", direct, 4}, {"staged", staged, 1}, {"staged", staged, 2},
                                {"staged", staged, 4}};

class GpuCommunicators : public GpuTest,
                         public testing::WithParamInterface<std::tuple<Backend, comm::ConformanceCase>> {};

TEST_P(GpuCommunicators, conform) {
  const auto& [backend, expectation] = GetParam();
  std::latch made(backend.ranks), met(backend.ranks);
  comm::run_thread_ranks({backend.ranks, comm::conformance_groups(backend.ranks)}, [&](comm::Communicator& host) {
    const auto comm = backend.make(host);
    made.arrive_and_wait();
    DeviceBuffers buffers(*comm, 0);
    struct AtEnd {
      std::latch& latch;
      ~AtEnd() { latch.arrive_and_wait(); }
    } const at_end{met};
    expectation.run(buffers);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  });
}

INSTANTIATE_TEST_SUITE_P(all, GpuCommunicators,
                         testing::Combine(testing::ValuesIn(backends),
                                          testing::ValuesIn(comm::conformance_cases().begin(),
                                                            comm::conformance_cases().end())),
                         [](const auto& instance) {
                           const Backend& backend = std::get<0>(instance.param);
                           return std::string(std::get<1>(instance.param).name) + "_" + backend.name + "_" +
                                  std::to_string(backend.ranks) + "_ranks";
                         });

}  // namespace
}  // namespace parabench::exec
