// The code that talks to CUDA and NCCL, on the fake of both: ranks as threads, a GPU for each. A build with CUDA only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "parallelism/comm/cuda/direct.h"
#include "parallelism/comm/cuda/nccl.h"
#include "parallelism/comm/cuda/runtime.h"
#include "parallelism/comm/cuda/staged.h"
#include "parallelism/comm/threads/world.h"
#include "tests/comm/conformance.h"
#include "tests/comm/fake_cuda.h"
#include "tests/comm/fake_nccl.h"
#include "tests/comm/on_device.h"

namespace parabench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<MessageLane> every_lane(int ranks) {
  std::vector<MessageLane> lanes;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      for (int c = 0; c < channel_count && from != to; ++c) {
        lanes.push_back({Rank(from), Rank(to), static_cast<Channel>(c)});
      }
    }
  }
  return lanes;
}

std::unique_ptr<Communicator> over_nccl(Communicator& host) {
  return make_nccl_communicator(host, host.rank().value, every_lane(host.size()), {.time_limit_s = 20});
}

std::unique_ptr<Communicator> staged(Communicator& host) { return make_staged_communicator(host, host.rank().value); }

std::unique_ptr<Communicator> direct(Communicator& host) { return make_direct_communicator(host, host.rank().value); }

std::unique_ptr<Communicator> direct_without_peer_access(Communicator& host) { return direct(host); }

std::unique_ptr<Communicator> direct_on_one_gpu(Communicator& host) { return make_direct_communicator(host, 0); }

struct Arrival {
  std::latch& latch;
  ~Arrival() { latch.arrive_and_wait(); }
};

using Maker = std::unique_ptr<Communicator> (*)(Communicator&);

std::string name_of(Maker make) {
  if (make == over_nccl) return "nccl";
  if (make == staged) return "staged";
  if (make == direct) return "direct";
  return make == direct_on_one_gpu ? "direct_on_one_gpu" : "direct_without_peer_access";
}

const auto makers = testing::Values(over_nccl, staged, direct, direct_without_peer_access, direct_on_one_gpu);

class GpuRanks : public testing::TestWithParam<std::tuple<Maker, int, ConformanceCase>> {};

TEST_P(GpuRanks, conform) {
  const auto& [make, ranks, expectation] = GetParam();
  // An expectation that breaks its group must not reach a rank that is still making or already ending its communicator.
  std::latch made(ranks), met(ranks);
  set_fake_cuda_peer_access(make != direct_without_peer_access);
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
                         testing::Combine(makers, testing::Values(1, 2, 3, 4),
                                          testing::ValuesIn(conformance_cases().begin(), conformance_cases().end())),
                         [](const auto& instance) {
                           return std::string(std::get<2>(instance.param).name) + "_" +
                                  name_of(std::get<0>(instance.param)) + "_" +
                                  std::to_string(std::get<1>(instance.param)) + "_ranks";
                         });

/// A stream that computes: what it was given happens once the gate is open.
class ComputeStream {
 public:
  /// Writes a number into a buffer. The event after that.
  void* write(float& buffer, float number) {
    fake_cuda_enqueue(stream_.get(), [this, &buffer, number] {
      if (open_) buffer = number;
      return open_.load();
    });
    EXPECT_EQ(cudaEventRecord(ready_.get(), stream_.get()), cudaSuccess);
    return ready_.get();
  }
  /// Reads a buffer once the stream has waited for an event.
  float read_after(const DeviceEvent& event, const float& buffer) {
    float number = 0;
    EXPECT_EQ(cudaStreamWaitEvent(stream_.get(), static_cast<cudaEvent_t>(event.get()), 0), cudaSuccess);
    fake_cuda_enqueue(stream_.get(), [&] {
      number = buffer;
      return true;
    });
    EXPECT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
    return number;
  }
  void open() { open_ = true; }

 private:
  std::atomic<bool> open_ = false;
  Stream stream_ = make_stream();
  Event ready_ = make_event();
};

/// Of two ranks that wait for each other without a collective.
using Meeting = std::barrier<>;

/// `body(comm, compute, meeting)` on two ranks, each with a stream of its own that computes.
template <class Body>
void on_two_gpus(Maker make, Body body) {
  set_fake_cuda_peer_access(make != direct_without_peer_access);
  Meeting meeting(2);
  run_thread_ranks(2, [&](Communicator& host) {
    const auto comm = make(host);
    cudaSetDevice(make == direct_on_one_gpu ? 0 : host.rank().value);
    ComputeStream compute;
    body(*comm, compute, meeting);
    comm->wait(comm->barrier());
  });
}

BufferView on_gpu(float& value, void* ready = nullptr) { return {&value, 4, ElementType::f32, true, ready}; }

constexpr Message letter{Channel::forward, 5};

/// Looks at the work, and lets the other rank do as much, while nothing may come of it.
void look_in_vain(Meeting& meeting, Work& work) {
  for (int round = 0; round < 3; ++round) {
    for (int look = 0; look < 20; ++look) EXPECT_FALSE(work.test());
    meeting.arrive_and_wait();
  }
}

class GpuOrder : public testing::TestWithParam<Maker> {};
INSTANTIATE_TEST_SUITE_P(all, GpuOrder, makers, [](const auto& instance) { return name_of(instance.param); });

TEST_P(GpuOrder, AMessageIsReadOnceItsBufferIsReady) {
  on_two_gpus(GetParam(), [](Communicator& comm, ComputeStream& compute, Meeting& meeting) {
    float value = 1;
    const bool sends = comm.rank() == Rank(0);
    Work work = sends ? comm.send(on_gpu(value, compute.write(value, 7)), Rank(1), letter)
                      : comm.recv(on_gpu(value), Rank(0), letter);
    look_in_vain(meeting, work);
    EXPECT_EQ(value, 1);
    compute.open();
    comm.wait(std::move(work));
    EXPECT_EQ(value, 7);
  });
}

TEST_P(GpuOrder, AMessageIsWrittenOnceItsBufferIsReady) {
  on_two_gpus(GetParam(), [](Communicator& comm, ComputeStream& compute, Meeting& meeting) {
    float value = comm.rank() == Rank(0) ? 7 : 1, earlier = 0;
    if (comm.rank() == Rank(0)) {
      Work work = comm.send(on_gpu(value), Rank(1), letter);
      for (int round = 0; round < 3; ++round) {
        work.test();  // where the host carries it, it ends before the receive does
        meeting.arrive_and_wait();
      }
      return comm.wait(std::move(work));
    }
    // Whoever still reads the buffer reads what was there before.
    Work work = comm.recv(on_gpu(value, compute.write(earlier, 9)), Rank(0), letter);
    look_in_vain(meeting, work);
    EXPECT_EQ(value, 1);
    compute.open();
    comm.wait(std::move(work));
    EXPECT_EQ(value, 7);
    EXPECT_EQ(earlier, 9);
  });
}

TEST_P(GpuOrder, ASumIsMadeOnceAllItsBuffersAreReady) {
  for (int late = 0; late < 2; ++late) {
    on_two_gpus(GetParam(), [late](Communicator& comm, ComputeStream& compute, Meeting& meeting) {
      float value = 1;
      if (comm.rank() != Rank(late)) compute.open();
      Work work = comm.all_reduce(on_gpu(value, compute.write(value, 10)));
      look_in_vain(meeting, work);
      compute.open();
      comm.wait(std::move(work));
      EXPECT_EQ(value, 20);
    });
  }
}

TEST_P(GpuOrder, AStreamThatWaitsForAQueuedOperationSeesItsResult) {
  on_two_gpus(GetParam(), [](Communicator& comm, ComputeStream& compute, Meeting& meeting) {
    // The host stages only what it has seen; the others run ahead of what fills their buffers.
    if (GetParam() == staged) compute.open();
    const auto drive = [&](Work& work) {
      while (!work.queued()) comm.sleep(comm.events(), 1e-4);
    };
    float value = 1, sum = 1;
    const bool sends = comm.rank() == Rank(0);
    Work message = sends ? comm.send(on_gpu(value, compute.write(value, 7)), Rank(1), letter)
                         : comm.recv(on_gpu(value), Rank(0), letter);
    drive(message);
    Work reduction = comm.all_reduce(on_gpu(sum, compute.write(sum, 10)));
    drive(reduction);
    if (GetParam() != staged) {
      EXPECT_FALSE(reduction.test());
      meeting.arrive_and_wait();  // both are queued before either can happen
    }
    compute.open();
    if (!sends) {
      EXPECT_EQ(compute.read_after(message.device_span().end, value), 7);
    }
    EXPECT_EQ(compute.read_after(reduction.device_span().end, sum), 20);
    comm.wait(std::move(message));
    comm.wait(std::move(reduction));
  });
}

TEST_P(GpuOrder, AnOperationsTimesAreThoseOfItsOwnGpuFromTheMomentThatItsBufferIsReady) {
  on_two_gpus(GetParam(), [](Communicator& comm, ComputeStream& compute, Meeting&) {
    float sum = 1;
    void* const ready = compute.write(sum, 10);
    const Event before = make_timing_event();
    Work work = comm.all_reduce(on_gpu(sum, ready));
    for (int look = 0; look < 20; ++look) work.test();
    Stream other = make_stream();
    ASSERT_EQ(cudaEventRecord(before.get(), other.get()), cudaSuccess);
    ASSERT_EQ(cudaEventSynchronize(before.get()), cudaSuccess);
    compute.open();
    while (!work.test()) comm.sleep(comm.events(), 1e-4);
    const DeviceSpan span = work.device_span();
    float to_start = -1, to_end = -1;
    EXPECT_EQ(cudaEventElapsedTime(&to_start, before.get(), static_cast<cudaEvent_t>(span.start.get())), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&to_end, before.get(), static_cast<cudaEvent_t>(span.end.get())), cudaSuccess);
    EXPECT_GE(to_start, 0);
    EXPECT_GE(to_end, to_start);
  });
}

/// `body(comm)` on two ranks of one GPU that hand pointers over.
template <class Body>
void directly(Body body) {
  run_thread_ranks(2, [&](Communicator& host) {
    const auto comm = make_direct_communicator(host, 0);
    body(*comm);
  });
}

TEST(Direct, MembersThatStartDifferentSumsAreToldTheGroup) {
  std::atomic<int> told = 0;
  directly([&](Communicator& comm) {
    float data[2] = {};
    const std::int64_t bytes = comm.rank() == Rank(1) ? 4 : 8;
    try {
      comm.wait(comm.all_reduce({data, bytes, ElementType::f32, true}));
    } catch (const std::logic_error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("group 0"), HasSubstr("rank 0"), HasSubstr("rank 1"),
                                      HasSubstr("4 bytes"), HasSubstr("8 bytes")));
      ++told;
    }
    comm.wait(comm.barrier());
  });
  EXPECT_EQ(told, 2);
}

TEST(Direct, ADroppedSendIsCopiedNoMore) {
  directly([](Communicator& comm) {
    float value = comm.rank() == Rank(0) ? 7 : 1;
    Work work;
    if (comm.rank() == Rank(0)) {
      comm.send(on_gpu(value), Rank(1), letter);
      value = 8;  // nobody reads it any more
    }
    comm.wait(comm.barrier());
    if (comm.rank() == Rank(1)) work = comm.recv(on_gpu(value), Rank(0), letter);
    for (int look = 0; look < 20; ++look) EXPECT_EQ(work.test(), comm.rank() == Rank(0));
    EXPECT_EQ(value, comm.rank() == Rank(0) ? 8 : 1);
    comm.wait(comm.barrier());
  });
}

TEST(Direct, ASumThatOneMemberDropsTouchesNobodysBuffer) {
  directly([](Communicator& comm) {
    float value = 1;
    {
      Work dropped = comm.all_reduce(on_gpu(value));
      if (comm.rank() == Rank(1)) dropped = {};
      comm.wait(comm.barrier());
      for (int look = 0; look < 20 && comm.rank() == Rank(0); ++look) EXPECT_FALSE(dropped.test());
    }
    EXPECT_EQ(value, 1);
  });
}

TEST(Direct, ArenasThatDifferInSizeAreRefused) {
  directly([](Communicator& comm) {
    EXPECT_THAT([&] { comm.allocate(100 + comm.rank().value); },
                testing::ThrowsMessage<std::logic_error>(HasSubstr("100 bytes on rank 0, 101 bytes on rank 1")));
  });
}

/// What a rank of two is told when `body` fails.
template <class Body>
std::string failure_of(NcclOptions options, Body body) {
  std::string text;
  try {
    run_thread_ranks(2, [&](Communicator& host) {
      const auto comm = make_nccl_communicator(host, host.rank().value, every_lane(2), options);
      body(*comm);
    });
  } catch (const std::exception& error) {
    text = error.what();
  }
  EXPECT_EQ(fake_nccl().communicators, 0);
  return text;
}

TEST(Nccl, RefusesToShareAGpuAndNamesWhatCan) {
  try {
    run_thread_ranks(3, [](Communicator& host) { make_nccl_communicator(host, host.rank().value / 2); });
    FAIL() << "two ranks share a GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("ranks 0 and 1"), HasSubstr("comm:mpi"), HasSubstr("comm:threads")));
  }
  EXPECT_EQ(fake_nccl().communicators, 0);
}

/// `declared(rank)` on each of three ranks; what the first of them that fails says.
std::string refusal_of(const std::function<std::vector<MessageLane>(int)>& declared) {
  try {
    run_thread_ranks(
        3, [&](Communicator& host) { make_nccl_communicator(host, host.rank().value, declared(host.rank().value)); });
  } catch (const std::exception& error) {
    EXPECT_EQ(fake_nccl().communicators, 0);
    return error.what();
  }
  return "";
}

constexpr MessageLane up{Rank(0), Rank(1), Channel::forward}, down{Rank(1), Rank(0), Channel::backward};

TEST(Nccl, RefusesLanesThatAreNotTheSameOnAllRanks) {
  EXPECT_THAT(refusal_of([](int rank) {
                return rank == 2 ? std::vector{down} : std::vector{down, up};
              }),
              AllOf(HasSubstr("rank 1 to 0 on backward (rank 2)"), HasSubstr("rank 0 to 1 on forward, rank 1 to 0")));
  EXPECT_EQ(refusal_of([](int rank) { return rank == 2 ? std::vector{up, down} : std::vector{down, up, down}; }), "");
}

TEST(Nccl, RefusesALaneOfNoTwoRanks) {
  for (const auto& [from, to] : {std::pair(0, 3), std::pair(-1, 1), std::pair(2, 2)}) {
    const MessageLane bad{Rank(from), Rank(to), Channel::forward};
    EXPECT_THAT(refusal_of([&](int) { return std::vector{up, bad}; }), HasSubstr("two of the ranks 0 to 2"));
  }
}

TEST(Nccl, EveryGroupAndLaneIsUsedWhenItIsMade) {
  const int launched = fake_nccl().launched;
  run_thread_ranks({3, {{Rank(0), Rank(2)}}}, [](Communicator& host) {
    make_nccl_communicator(host, host.rank().value, {up, down});
  });
  EXPECT_EQ(fake_nccl().launched, launched + 3 + 2 + 2 + 2);
}

TEST(Nccl, ARankTakesPartInItsOwnLanesAlone) {
  run_thread_ranks(3, [](Communicator& host) {
    const auto comm = make_nccl_communicator(host, host.rank().value, {up, down});
    comm->wait(comm->barrier());
    EXPECT_EQ(fake_nccl().communicators, 3 + 2 + 2);
    comm->wait(comm->barrier());
  });
}

TEST(Nccl, RefusesAMessageOnALaneThatWasNotDeclared) {
  run_thread_ranks(2, [](Communicator& host) {
    const auto comm = make_nccl_communicator(host, host.rank().value, {up});
    float value = 0;
    const BufferView view{&value, 4, ElementType::byte, true};
    const Rank other(1 - host.rank().value);
    const auto way = [](Rank from, Rank to) {
      return "rank " + std::to_string(from.value) + " to " + std::to_string(to.value) + " on backward";
    };
    const auto send = [&] { return comm->send(view, other, {Channel::backward, 1}); };
    const auto receive = [&] { return comm->recv(view, other, {Channel::backward, 1}); };
    EXPECT_THAT(send, testing::ThrowsMessage<std::invalid_argument>(HasSubstr(way(host.rank(), other))));
    EXPECT_THAT(receive, testing::ThrowsMessage<std::invalid_argument>(HasSubstr(way(other, host.rank()))));
  });
}

TEST(Nccl, AReceiveTakesNoGpuBeforeItsMessageIsOnTheWay) {
  run_thread_ranks(2, [](Communicator& host) {
    const auto comm = make_nccl_communicator(host, host.rank().value, {up});
    comm->wait(comm->barrier());
    const int launched = fake_nccl().launched;
    comm->wait(comm->barrier());
    std::uint32_t word = 7 * static_cast<std::uint32_t>(1 - host.rank().value);
    const BufferView view{&word, 4, ElementType::byte, true};
    Work work;
    if (host.rank() == up.to) {
      work = comm->recv(view, up.from, {up.channel, 1});
      for (int look = 0; look < 10; ++look) EXPECT_FALSE(work.test());
      EXPECT_EQ(fake_nccl().launched, launched);
    }
    comm->wait(comm->barrier());
    if (host.rank() == up.from) work = comm->send(view, up.to, {up.channel, 1});
    comm->wait(std::move(work));
    comm->wait(comm->barrier());
    EXPECT_EQ(word, 7u);
    EXPECT_EQ(fake_nccl().launched, launched + 2);
  });
}

TEST(Nccl, AReceiveThatNobodySendsToEndsWithinTheLimit) {
  const std::string text = failure_of({.time_limit_s = 0.2}, [](Communicator& comm) {
    float value = 0;
    if (comm.rank() == Rank(1))
      comm.wait(comm.recv({&value, 4, ElementType::f32, true}, Rank(0), {Channel::forward, 1}));
    comm.wait(comm.barrier());
  });
  EXPECT_THAT(text, HasSubstr("recv of 4 bytes from rank 0 over NCCL has not ended within 0.2 s"));
}

TEST(Nccl, AnOperationThatOneRankNeverStartsEndsWithinTheLimit) {
  const std::string text = failure_of({.time_limit_s = 0.2}, [](Communicator& comm) {
    float value = 0;
    const BufferView view{&value, 4, ElementType::f32, true};
    comm.wait(comm.rank() == Rank(0) ? comm.all_reduce(view) : comm.recv(view, Rank(0), {Channel::forward, 1}));
  });
  EXPECT_THAT(text, AllOf(HasSubstr("4 bytes"), HasSubstr("has not ended within 0.2 s")));
}

TEST(Nccl, AnAsynchronousErrorStopsEveryRank) {
  const std::string text = failure_of({}, [](Communicator& comm) {
    comm.wait(comm.barrier());
    float value = 0;
    Work work = comm.all_reduce({&value, 4, ElementType::f32, true});
    set_fake_nccl_error(ncclSystemError);
    comm.wait(std::move(work));
  });
  set_fake_nccl_error(ncclSuccess);
  EXPECT_THAT(text, HasSubstr("NCCL: an error of the fake: the fake's last"));
}

TEST(Nccl, ARankThatFailsLeavesNoCommunicatorBehind) {
  const int aborted = fake_nccl().aborted;
  const std::string text = failure_of({}, [](Communicator& comm) {
    if (comm.rank() == Rank(1)) throw std::domain_error("divided by zero");
    std::vector<float> data(100000);
    comm.wait(comm.recv({data.data(), 400000, ElementType::byte, true}, Rank(1), {Channel::forward, 1}));
  });
  EXPECT_THAT(text, HasSubstr("divided by zero"));
  EXPECT_GT(fake_nccl().aborted, aborted);
}

TEST(Nccl, ADroppedOperationWritesIntoNoBufferAnyMore) {
  failure_of({}, [](Communicator& comm) {
    const auto view = [](std::uint32_t& word) { return BufferView{&word, 4, ElementType::byte, true}; };
    std::uint32_t first = 1, second = 2;
    if (comm.rank() == Rank(1)) {
      comm.wait(comm.barrier());
      comm.wait(comm.send(view(first), Rank(0), {Channel::forward, 1}));
      comm.wait(comm.send(view(second), Rank(0), {Channel::forward, 2}));
      return;
    }
    std::uint32_t dropped = 0, kept = 0;
    Work work = comm.recv(view(dropped), Rank(1), {Channel::forward, 1});
    for (int look = 0; look < 10; ++look) EXPECT_FALSE(work.test());
    work = {};
    comm.wait(comm.barrier());
    EXPECT_THROW(comm.wait(comm.recv(view(kept), Rank(1), {Channel::forward, 2})), std::exception);
    EXPECT_EQ(dropped, 0u);
  });
}

TEST(Nccl, AnyThreadOfTheRankMayDriveIt) {
  run_thread_ranks(2, [](Communicator& host) {
    const auto comm = make_nccl_communicator(host, 1 + host.rank().value);
    std::jthread([&] {
      float value = 1;
      comm->wait(comm->all_reduce({&value, 4, ElementType::f32, true}));
      EXPECT_EQ(value, 2);
    });
  });
}

TEST(Nccl, LeavesBuffersOfTheHostToTheHost) {
  run_thread_ranks(2, [](Communicator& host) {
    const auto comm = make_nccl_communicator(host, host.rank().value);
    double value = 3;
    comm->wait(comm->all_reduce({&value, 8, ElementType::f64}));
    EXPECT_EQ(value, 6);
    EXPECT_EQ(all_gather(*comm, std::to_string(comm->rank().value)), (std::vector<std::string>{"0", "1"}));
    EXPECT_THAT(comm->capabilities().note, HasSubstr("NCCL 2."));
  });
}

}  // namespace
}  // namespace parabench
