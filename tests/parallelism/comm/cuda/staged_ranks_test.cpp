// Staging with host memory that plays the device's: ranks as threads, copies that end late and in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <list>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "parallelism/comm/cuda/gpus.h"
#include "parallelism/comm/cuda/nccl.h"
#include "parallelism/comm/cuda/staged.h"
#include "parallelism/comm/cuda/staged_communicator.h"
#include "parallelism/comm/threads/world.h"
#include "tests/parallelism/comm/conformance.h"
#include "tests/parallelism/comm/cuda/on_device.h"

namespace parabench::comm {
namespace {

/// What a test wants to know of a device that staging owns.
struct Ledger {
  int copies = 0, in_flight = 0, pinned_pieces = 0;
  std::vector<std::pair<const std::byte*, std::int64_t>> pinned;
  std::vector<void*> ready;  ///< what the copies were told to wait for
  int looks_per_copy = -1;   ///< -1: any number up to 4
};

/// A copy moves its bytes only when it ends, so that whoever does not wait for it finds old ones.
class PretendedDevice final : public StagingDevice {
 public:
  PretendedDevice(Ledger& ledger, int seed) : ledger_(ledger), random_(seed) {}

  std::byte* allocate(std::int64_t bytes) override { return memory(bytes); }
  std::byte* allocate_pinned(std::int64_t bytes) override {
    ++ledger_.pinned_pieces;
    std::byte* const data = memory(bytes);
    pin(data, bytes);
    return data;
  }
  void pin(std::byte* data, std::int64_t bytes) override { ledger_.pinned.emplace_back(data, bytes); }
  Work copy_out(std::byte* host, const std::byte* device, std::int64_t bytes, void* ready) override {
    EXPECT_TRUE(is_pinned(host, bytes));
    ledger_.ready.push_back(ready);
    return copy(host, device, bytes);
  }
  Work copy_in(std::byte* device, const std::byte* host, std::int64_t bytes, void* ready) override {
    EXPECT_TRUE(is_pinned(host, bytes));
    ledger_.ready.push_back(ready);
    return copy(device, host, bytes);
  }

 private:
  class Copy final : public WorkState {
   public:
    Copy(Ledger& ledger, std::byte* to, const std::byte* from, std::int64_t bytes, int looks)
        : ledger_(ledger), to_(to), from_(from), bytes_(bytes), looks_(looks) {
      ++ledger_.copies;
      ++ledger_.in_flight;
    }
    ~Copy() override { end(); }
    bool advance() override {
      if (looks_-- > 0) return false;
      end();
      return true;
    }

   private:
    void end() {
      if (ended_) return;
      if (bytes_ > 0) std::memcpy(to_, from_, bytes_);
      ended_ = true;
      --ledger_.in_flight;
    }

    Ledger& ledger_;
    std::byte* to_;
    const std::byte* from_;
    std::int64_t bytes_;
    int looks_;
    bool ended_ = false;
  };

  Work copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    const int looks = ledger_.looks_per_copy >= 0 ? ledger_.looks_per_copy : static_cast<int>(random_() % 5);
    return Work(std::make_unique<Copy>(ledger_, to, from, bytes, looks));
  }

  bool is_pinned(const std::byte* data, std::int64_t bytes) const {
    return std::ranges::any_of(ledger_.pinned, [&](const auto& range) {
      return data >= range.first && data + bytes <= range.first + range.second;
    });
  }

  std::byte* memory(std::int64_t bytes) {
    auto& block = memory_.emplace_back(static_cast<std::size_t>(bytes) + 64);
    const auto address = reinterpret_cast<std::uintptr_t>(block.data());
    return block.data() + (64 - address % 64) % 64;
  }

  Ledger& ledger_;
  std::mt19937 random_;
  std::list<std::vector<std::byte>> memory_;
};

class StagedRanks : public testing::TestWithParam<std::tuple<int, ConformanceCase>> {};

TEST_P(StagedRanks, conform) {
  const auto& [ranks, expectation] = GetParam();
  run_thread_ranks({ranks, conformance_groups(ranks)}, [&](Communicator& host) {
    Ledger ledger;
    StagedCommunicator staged(host, std::make_unique<PretendedDevice>(ledger, host.rank().value));
    OnDevice device(staged);
    expectation.run(device);
  });
}

INSTANTIATE_TEST_SUITE_P(all, StagedRanks,
                         testing::Combine(testing::Values(1, 2, 4),
                                          testing::ValuesIn(conformance_cases().begin(), conformance_cases().end())),
                         [](const auto& instance) {
                           return std::string(std::get<1>(instance.param).name) + "_" +
                                  std::to_string(std::get<0>(instance.param)) + "_ranks";
                         });

/// `body(staged, ledger)` on two ranks.
template <class Body>
void on_two_ranks(int looks_per_copy, Body body) {
  run_thread_ranks(2, [&](Communicator& host) {
    Ledger ledger{.looks_per_copy = looks_per_copy};
    StagedCommunicator staged(host, std::make_unique<PretendedDevice>(ledger, 1));
    body(staged, ledger);
  });
}

TEST(Staging, ReducesAnArenaInTheHostsArenaBehindIt) {
  on_two_ranks(2, [](StagedCommunicator& staged, Ledger& ledger) {
    const Arena first = staged.allocate(4096), second = staged.allocate(4096);
    float* const value = reinterpret_cast<float*>(second.data) + 16;
    *value = 1;
    staged.wait(staged.all_reduce({value, 4, ElementType::f32, true}));
    EXPECT_EQ(*value, 2);
    EXPECT_EQ(*reinterpret_cast<float*>(first.data), 0);
    EXPECT_EQ(ledger.pinned_pieces, 0);
    EXPECT_EQ(ledger.copies, 2);
  });
}

TEST(Staging, TheFirstCopyOfAnOperationWaitsForItsBuffer) {
  on_two_ranks(1, [](StagedCommunicator& staged, Ledger& ledger) {
    float value = 1;
    int event = 0;
    const BufferView view{&value, 4, ElementType::f32, true, &event};
    staged.wait(staged.all_reduce(view));
    EXPECT_THAT(ledger.ready, testing::ElementsAre(&event, nullptr));
    const Message message{Channel::forward, 1};
    staged.wait(staged.rank() == Rank(0) ? staged.send(view, Rank(1), message) : staged.recv(view, Rank(0), message));
    EXPECT_THAT(ledger.ready, testing::ElementsAre(&event, nullptr, &event));
  });
}

TEST(Staging, IsQueuedWhenOnlyTheLastCopyIsLeft) {
  on_two_ranks(1000, [](StagedCommunicator& staged, Ledger& ledger) {
    float value = 1;
    const BufferView view{&value, 4, ElementType::f32, true};
    Work work = staged.all_reduce(view);
    for (int look = 0; look < 10; ++look) EXPECT_FALSE(work.queued());
    ledger.looks_per_copy = 0;  // the next one's: that of the way back
    while (!work.queued()) {
    }
    EXPECT_EQ(ledger.copies, 2);
    staged.wait(std::move(work));
    EXPECT_EQ(value, 2);
  });
}

TEST(Staging, KeepsPinnedMemoryForTheNextMessage) {
  on_two_ranks(1, [](StagedCommunicator& staged, Ledger& ledger) {
    std::vector<char> buffer(100000);
    for (int i = 0; i < 10; ++i) {
      const BufferView view{buffer.data(), 100000 - i, ElementType::byte, true};
      const Message message{Channel::forward, static_cast<std::uint64_t>(i)};
      staged.wait(staged.rank() == Rank(0) ? staged.send(view, Rank(1), message) : staged.recv(view, Rank(0), message));
    }
    EXPECT_EQ(ledger.copies, 10);
    EXPECT_EQ(ledger.pinned_pieces, 1);
  });
}

TEST(Staging, CopiesNoBufferOfTheHost) {
  on_two_ranks(1, [](StagedCommunicator& staged, Ledger& ledger) {
    double value = 3;
    staged.wait(staged.all_reduce({&value, 8, ElementType::f64}));
    EXPECT_EQ(value, 6);
    EXPECT_EQ(all_gather(staged, "text").size(), 2u);
    EXPECT_EQ(ledger.copies, 0);
    EXPECT_EQ(ledger.pinned_pieces, 0);
  });
}

TEST(Staging, HandsOverInTheOrderStartedAlthoughALaterCopyEndsFirst) {
  on_two_ranks(0, [](StagedCommunicator& staged, Ledger& ledger) {
    std::uint32_t values[] = {1, 2};
    Work works[2];
    for (int i = 0; i < 2; ++i) {
      const Message message{Channel::backward, static_cast<std::uint64_t>(i)};
      ledger.looks_per_copy = staged.rank() == Rank(0) && i == 0 ? 50 : 0;
      const BufferView view{values + i, 4, ElementType::byte, true};
      works[i] = staged.rank() == Rank(0) ? staged.send(view, Rank(1), message) : staged.recv(view, Rank(0), message);
    }
    std::swap(works[0], works[1]);
    staged.wait_all(works);  // a wrong order would be a wrong tag
  });
}

TEST(Staging, ADroppedOperationWaitsForItsCopyAndGivesItsMemoryBack) {
  on_two_ranks(1000, [](StagedCommunicator& staged, Ledger& ledger) {
    std::vector<char> buffer(5000);
    for (int i = 0; i < 3; ++i) {
      Work work = staged.all_reduce({buffer.data(), 5000, ElementType::f32, true});
      EXPECT_FALSE(work.test());
      EXPECT_EQ(ledger.in_flight, 1);
      work = {};
      EXPECT_EQ(ledger.in_flight, 0);
    }
    EXPECT_EQ(ledger.pinned_pieces, 1);
  });
}

TEST(Staging, SleepsShortlyWhileACopyIsInFlight) {
  on_two_ranks(1000, [](StagedCommunicator& staged, Ledger&) {
    float value = 0;
    Work work = staged.all_reduce({&value, 4, ElementType::f32, true});
    const auto begin = std::chrono::steady_clock::now();
    staged.sleep(staged.events(), 30);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  });
}

TEST(Staging, WithoutCudaSaysWhatToTry) {
  if (!look_for_gpus().runtime.empty()) GTEST_SKIP() << "this build has CUDA";
  run_thread_ranks(1, [](Communicator& host) {
    for (const auto make : {+[](Communicator& comm) { make_staged_communicator(comm, 0); },
                            +[](Communicator& comm) { make_nccl_communicator(comm, 0); }}) {
      try {
        make(host);
        ADD_FAILURE() << "made without CUDA";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::environment);
        EXPECT_THAT(error.what(), testing::HasSubstr("PARABENCH_PRESET=cuda"));
      }
    }
  });
}

}  // namespace
}  // namespace parabench::comm
