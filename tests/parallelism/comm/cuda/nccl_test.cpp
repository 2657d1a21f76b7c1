// What the communicator over NCCL does by itself, on the fakes of CUDA and NCCL. A build with CUDA only.
#include "parallelism/comm/cuda/nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "parallelism/comm/forwarding_communicator.h"
#include "parallelism/comm/threads/world.h"
#include "tests/parallelism/comm/cuda/fake_nccl.h"
#include "tests/parallelism/comm/cuda/gpu_ranks.h"

namespace parabench::comm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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
  EXPECT_EQ(fake_nccl().launched, launched + 2 * (3 + 2) + 2 + 2);
}

TEST(Nccl, SharesOfUnequalSizesAreOneGroupAndEmptyOnesAreNotInIt) {
  run_thread_ranks(3, [](Communicator& host) {
    const auto comm = make_nccl_communicator(host, host.rank().value);
    std::vector<float> data(7, 1.0F);
    const BufferView view{data.data(), 28, ElementType::f32, true};
    const std::int64_t unequal[] = {20, 0, 8}, equal[] = {8, 8, 8};
    const auto groups_and_launches = [&](const std::function<Work()>& start) {
      comm->wait(comm->barrier());
      const FakeNccl before = fake_nccl();
      comm->wait(comm->barrier());
      comm->wait(start());
      comm->wait(comm->barrier());
      const FakeNccl after = fake_nccl();
      comm->wait(comm->barrier());
      return std::pair(after.groups - before.groups, after.launched - before.launched);
    };
    EXPECT_EQ(groups_and_launches([&] { return comm->reduce_scatter(view, Shares(unequal)); }), std::pair(3, 3));
    EXPECT_EQ(groups_and_launches([&] { return comm->all_gather(view, Shares(unequal)); }), std::pair(3, 3));
    EXPECT_EQ(data, std::vector<float>(7, 3.0F));
    const BufferView whole{data.data(), 24, ElementType::f32, true};
    EXPECT_EQ(groups_and_launches([&] { return comm->reduce_scatter(whole, Shares(equal)); }), std::pair(0, 3));
    EXPECT_EQ(groups_and_launches([&] { return comm->all_gather(whole, Shares(equal)); }), std::pair(0, 3));
    EXPECT_EQ(std::vector<float>(data.begin(), data.begin() + 6), std::vector<float>(6, 9.0F));
  });
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

TEST(Nccl, HoweverManyOperationsAreDroppedTheLanesOfARankAreEndedOnce) {
  const FakeNccl before = fake_nccl();
  failure_of({}, [](Communicator& comm) {
    const Rank other(1 - comm.rank().value);
    float first = 0, second = 0;
    Work works[] = {comm.recv(on_gpu(first), other, {Channel::forward, 1}),
                    comm.recv(on_gpu(second), other, {Channel::forward, 2})};
    comm.wait(comm.barrier());
    for (Work& work : works) work = {};
  });
  EXPECT_GT(fake_nccl().aborted, before.aborted);
  EXPECT_EQ(fake_nccl().groups, before.groups + 2);
}

/// A host that does not know yet that a rank has failed: another one is about to say so, with its own cause.
class UnawareHost final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  void abort(std::string_view) noexcept override {}
};

TEST(Nccl, LanesThatWereGivenUpAreNotFinishedWhileTheHostDoesNotKnow) {
  const FakeNccl before = fake_nccl();
  run_thread_ranks(2, [](Communicator& host) {
    UnawareHost unaware(host);
    const auto comm = make_nccl_communicator(unaware, host.rank().value, every_lane(2));
    comm->wait(comm->barrier());
    float value = 0;
    const Work dropped = comm->recv(on_gpu(value), Rank(1 - host.rank().value), {Channel::forward, 1});
  });
  EXPECT_GT(fake_nccl().aborted, before.aborted);
  EXPECT_EQ(fake_nccl().communicators, 0);
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
}  // namespace parabench::comm
