// Ranks that rehearse: nothing is handed on, and exchanges take as long as they are told to.
#include "parallelism/plan/paces.h"

#include <gtest/gtest.h>

#include "parallelism/comm/silent_communicator.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/executor.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/routes.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

TEST(Paces, RanksThatHandNothingOnWaitAsLongAsTheySay) {
  const auto pace_s = [](int index) { return 1e-3 * (1 + index % 3); };
  static MemoryAccount accounts[2];
  const plan::Plan plan = plan::unroll(small_plan("1f1b/np:2/batch:8/micro:4", 2), 2);
  comm::run_thread_ranks({2, plan::collective_groups(plan).declared}, [&](comm::Communicator& world) {
    const std::unique_ptr<Device> device = cpu_device(accounts[world.rank().value]);
    StageState state(plan, small_network(), world, *device);
    RankInput input = open_input(plan, world.rank(), small_source(), {}, *device);
    comm::SilentCommunicator comm(world);
    const std::vector<plan::Lane>& lanes = plan.ranks[world.rank().value].lanes;
    plan::ExchangeSeconds paces(lanes.size());
    for (int lane = plan::compute_lane + 1; lane < std::ssize(paces); ++lane)
      for (int i = 0; i < std::ssize(lanes[lane].ops); ++i) paces[lane].push_back(pace_s(i));
    const RankSpans spans = execute(plan, small_network(), state, comm, input, *device, StepId(0), &paces).spans;
    const plan::LocalDependencies late =
        plan::receiving_late(plan, world.rank(), plan::dependencies(plan, world.rank()));
    for (int lane = 0; lane < std::ssize(spans); ++lane) {
      double due_s = 0;
      for (int i = 0; i < std::ssize(spans[lane]); ++i) {
        const plan::Span& span = spans[lane][i];
        for (const plan::OpRef& ref : late.of(lane, i)) EXPECT_GE(span.start, spans[ref.lane][ref.index].end);
        if (lane == plan::compute_lane) continue;
        due_s = (i == 0 ? span.start : due_s) + pace_s(i);
        EXPECT_GE(span.end, due_s);
        EXPECT_LT(span.end - span.start, pace_s(i) + 0.5) << "and not longer";
      }
    }
  });
}

}  // namespace
}  // namespace parabench::exec
