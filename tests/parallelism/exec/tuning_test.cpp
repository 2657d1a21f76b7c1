#include "parallelism/exec/tuning.h"

#include <ATen/record_function.h>
#include <c10/core/AutogradState.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string_view>
#include <thread>

#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/executor.h"
#include "parallelism/plan/routes.h"
#include "tests/parallelism/exec/forwarding_device.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

std::atomic<int> convolutions = 0, convolution_backwards = 0;

/// Counts convolutions of all threads while it lives.
class CountConvolutions {
 public:
  CountConvolutions() {
    convolutions = convolution_backwards = 0;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& function) {
                                      const std::string_view name = function.name();
                                      convolutions += name == "aten::convolution";
                                      if (name == "aten::convolution_backward") {
                                        ++convolution_backwards;
                                        // Else a GPU's runs on a thread of autograd's, which keeps the choice.
                                        EXPECT_FALSE(c10::AutogradState::get_tls_state().get_multithreading_enabled());
                                      }
                                      return std::unique_ptr<at::ObserverContext>();
                                    }).scopes({at::RecordScope::FUNCTION}));
  }
  ~CountConvolutions() { at::removeCallback(handle_); }

 private:
  at::CallbackHandle handle_;
};

std::vector<double> losses(const plan::Plan& plan, bool tuned) {
  static MemoryAccount accounts[4];
  const models::ModelSpec model = layers_for(plan.spec, small_network());
  std::vector<double> sums(plan.steps);
  std::mutex mutex;
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
    StageState state(plan, model, comm, *device);
    if (tuned) tune(plan, model, state, *device, comm.rank());
    RankInput input = open_input(plan, comm.rank(), small_source(), {}, *device);
    const Execution execution = execute(plan, model, state, comm, input, *device, std::nullopt);
    const std::lock_guard lock(mutex);
    for (int s = 0; s < plan.steps; ++s) sums[s] += execution.losses[s];
  });
  return sums;
}

class Tuned : public testing::TestWithParam<const char*> {};

TEST_P(Tuned, TrainingGoesOnAsIfNothingHadBeenTried) {
  const plan::Plan plan = plan::unroll(small_plan(GetParam(), 3), 3);
  EXPECT_EQ(losses(plan, true), losses(plan, false));
}

INSTANTIATE_TEST_SUITE_P(Cases, Tuned,
                         testing::Values("sequential/np:1/batch:6", "gpipe/np:2/batch:7/micro:3",
                                         "data-parallel/np:2/batch:7", "data-parallel/np:2/batch:7/sync_bn:on",
                                         "data-parallel/np:2/batch:8/precision:bf16/sync_bn:on",
                                         "zb-v/np:2/batch:8/micro:4", "pipedream/np:2/batch:4",
                                         "gpipe/np:2/batch:8/precision:bf16",
                                         "sequential/np:1/batch:6/layout:channels_last"));

TEST(Tune, RunsEverySegmentOnceAtEachSizeOfItsPieces) {
  const plan::Plan plan = small_plan("gpipe/np:1/batch:8/micro:3", 1);
  ASSERT_EQ(plan.pieces[0], (std::vector<int>{3, 3, 2}));
  int in_network = 0;
  for (const models::LayerSpec& layer : small_network().layers)
    for (const models::Node& node : layer.nodes) in_network += std::holds_alternative<models::Conv2d>(node.operation);
  static MemoryAccount account;
  comm::run_thread_ranks(1, [&](comm::Communicator& comm) {
    const std::unique_ptr<Device> device = cpu_device(account);
    StageState state(plan, small_network(), comm, *device);
    const std::int64_t held = account.live();
    c10::AutogradState::get_tls_state().set_multithreading_enabled(true);  // whatever ran on this thread before
    const CountConvolutions count;
    tune(plan, small_network(), state, *device, Rank(0));
    EXPECT_EQ(convolutions, 2 * in_network);
    EXPECT_EQ(convolution_backwards, 2 * in_network);
    EXPECT_EQ(account.live(), held) << "nothing is left behind";
  });
}

/// Gives unused memory back, and notes in which order with the peaks.
class TidyDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  void release_unused() override { order += "release "; }
  void reset_peaks() override { order += "reset "; }
  std::string order;
};

TEST(Tune, WhatTrialsTookIsGivenBackBeforePeaksCount) {
  const plan::Plan plan = plan::unroll(small_plan("sequential/np:1/batch:6", 4), 4);
  static MemoryAccount account;
  comm::run_thread_ranks(1, [&](comm::Communicator& comm) {
    TidyDevice device(account);
    StageState state(plan, small_network(), comm, device);
    tune(plan, small_network(), state, device, Rank(0));
    EXPECT_EQ(device.order, "release ");
    RankInput input = open_input(plan, Rank(0), small_source(), {}, device);
    execute(plan, small_network(), state, comm, input, device, StepId(2));
    EXPECT_EQ(device.order, "release reset ") << "the run itself takes no memory from other ranks";
  });
}

TEST(Tune, ARankAloneStaysOnTheThreadThatKeepsTheChoices) {
  comm::run_thread_ranks(
      1, [here = std::this_thread::get_id()](comm::Communicator&) { EXPECT_EQ(std::this_thread::get_id(), here); });
}

}  // namespace
}  // namespace parabench::exec
