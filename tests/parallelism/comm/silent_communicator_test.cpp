#include "parallelism/comm/silent_communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <vector>

#include "parallelism/comm/threads/world.h"

namespace parabench::comm {
namespace {

BufferView view(std::vector<float>& values, ElementType type = ElementType::f32) {
  return {values.data(), static_cast<std::int64_t>(values.size() * sizeof(float)), type};
}

TEST(SilentCommunicator, AMessageIsThereWithoutItsSender) {
  run_thread_ranks(2, [](Communicator& world) {
    SilentCommunicator silent(world);
    if (silent.rank() != Rank(0)) return;
    std::vector<float> values(1000, 0), again(1000, 0);
    silent.wait(silent.recv(view(values, ElementType::byte), Rank(1), {}));
    silent.wait(silent.recv(view(again, ElementType::byte), Rank(1), {}));
    EXPECT_EQ(values, again);
    for (const float value : values) {
      EXPECT_GE(std::abs(value), std::ldexp(1.0F, -13));
      EXPECT_LT(std::abs(value), std::ldexp(1.0F, -12));
    }
    EXPECT_GT(std::set(values.begin(), values.end()).size(), 990U) << "norms divide by how far they are apart";
    EXPECT_TRUE(std::ranges::any_of(values, [](float value) { return value < 0; }));
  });
}

TEST(SilentCommunicator, FillsNoMoreThanTheBuffer) {
  run_thread_ranks(2, [](Communicator& world) {
    SilentCommunicator silent(world);
    std::vector<std::uint8_t> bytes(8, 0);
    silent.wait(silent.recv({bytes.data(), 6, ElementType::byte}, Rank(1 - silent.rank().value), {}));
    EXPECT_NE(bytes[5], 0);
    EXPECT_EQ(bytes[6], 0);
  });
}

TEST(SilentCommunicator, OneMemberSumsAndSendsAloneAndNothingChanges) {
  run_thread_ranks(2, [](Communicator& world) {
    SilentCommunicator silent(world);
    if (silent.rank() != Rank(1)) return;
    std::vector<float> values = {1, 2, 3, 4};
    silent.wait(silent.all_reduce(view(values)));
    silent.wait(silent.all_gather(view(values), Shares::even(16, 2)));
    silent.wait(silent.send(view(values), Rank(0), {}));
    EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4}));
  });
}

TEST(SilentCommunicator, RanksStillMeetAtBarriers) {
  std::atomic<int> come = 0;
  run_thread_ranks(4, [&](Communicator& world) {
    SilentCommunicator silent(world);
    ++come;
    silent.wait(silent.barrier());
    EXPECT_EQ(come, 4);
  });
}

TEST(SilentCommunicator, AFailureOfAnotherRankIsHeardOf) {
  bool heard = false;
  EXPECT_THROW(run_thread_ranks(2,
                                [&](Communicator& world) {
                                  SilentCommunicator silent(world);
                                  if (silent.rank() == Rank(0)) throw std::runtime_error("out of order");
                                  try {
                                    silent.wait(silent.barrier());
                                  } catch (const PeerFailure&) {
                                    heard = true;
                                    throw;
                                  }
                                }),
               std::runtime_error);
  EXPECT_TRUE(heard);
}

}  // namespace
}  // namespace parabench::comm
