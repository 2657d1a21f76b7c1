// What the communicator that hands pointers over does by itself, on the fake of CUDA. A build with CUDA only.
#include "parallelism/comm/cuda/direct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "parallelism/comm/threads/world.h"
#include "tests/parallelism/comm/cuda/gpu_ranks.h"

namespace parabench::comm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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

TEST(Direct, AGatherThatOneMemberDropsTouchesNobodysBuffer) {
  directly([](Communicator& comm) {
    float values[2] = {1, 1};
    values[comm.rank().value] = 5;
    {
      Work dropped = comm.all_gather({values, 8, ElementType::f32, true}, Shares(std::vector<std::int64_t>{4, 4}));
      if (comm.rank() == Rank(1)) dropped = {};
      comm.wait(comm.barrier());
      for (int look = 0; look < 20 && comm.rank() == Rank(0); ++look) EXPECT_FALSE(dropped.test());
    }
    EXPECT_EQ(values[1 - comm.rank().value], 1);
  });
}

TEST(Direct, ArenasThatDifferInSizeAreRefused) {
  directly([](Communicator& comm) {
    EXPECT_THAT([&] { comm.allocate(100 + comm.rank().value); },
                testing::ThrowsMessage<std::logic_error>(HasSubstr("100 bytes on rank 0, 101 bytes on rank 1")));
  });
}

}  // namespace
}  // namespace parabench::comm
