// What waits for what on the GPUs, on the fakes: events of buffers and of operations. A build with CUDA only.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <utility>
#include <vector>

#include "parallelism/comm/cuda/runtime.h"
#include "parallelism/comm/threads/world.h"
#include "tests/parallelism/comm/cuda/fake_cuda.h"
#include "tests/parallelism/comm/cuda/gpu_ranks.h"

namespace parabench::comm {
namespace {

/// A stream that computes: what it was given happens once the gate is open.
class ComputeStream {
 public:
  /// Writes a number into a buffer. The event after that.
  void* write(float& buffer, float number) {
    fake_cuda_enqueue(stream_.get(), [this, &buffer, number] {
      const bool open = open_;
      if (open) buffer = number;
      return open;
    });
    const Event& ready = ready_.emplace_back(make_event());
    EXPECT_EQ(cudaEventRecord(ready.get(), stream_.get()), cudaSuccess);
    return ready.get();
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
  std::vector<Event> ready_;  // after each write; an operation in flight may still wait for it
};

/// Of two ranks that wait for each other without a collective.
using Meeting = std::barrier<>;

/// `body(comm, compute, meeting)` on two ranks, each with a stream of its own that computes.
template <class Body>
void on_two_gpus(CommunicatorMaker make, Body body) {
  set_peer_access_for(make);
  Meeting meeting(2);
  run_thread_ranks(2, [&](Communicator& host) {
    const auto comm = make(host);
    cudaSetDevice(make == direct_on_one_gpu ? 0 : host.rank().value);
    ComputeStream compute;
    body(*comm, compute, meeting);
    comm->wait(comm->barrier());
  });
}

/// Looks at the work, and lets the other rank do as much, while nothing may come of it: `value` is at most `most`.
/// After that the other rank may go on, and the value may change at any time.
void look_in_vain(Meeting& meeting, Work& work, const float& value, float most) {
  for (int round = 0; round < 3; ++round) {
    for (int look = 0; look < 20; ++look) {
      EXPECT_FALSE(work.test());
      const std::lock_guard lock(fake_cuda_mutex());  // what GPUs do happens in the thread of whoever looks
      EXPECT_LE(value, most);
    }
    meeting.arrive_and_wait();
  }
}

class GpuOrder : public testing::TestWithParam<CommunicatorMaker> {};
INSTANTIATE_TEST_SUITE_P(all, GpuOrder, testing::ValuesIn(communicator_makers()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(GpuOrder, AMessageIsReadOnceItsBufferIsReady) {
  on_two_gpus(GetParam(), [](Communicator& comm, ComputeStream& compute, Meeting& meeting) {
    float value = 1;
    const bool sends = comm.rank() == Rank(0);
    Work work = sends ? comm.send(on_gpu(value, compute.write(value, 7)), Rank(1), letter)
                      : comm.recv(on_gpu(value), Rank(0), letter);
    look_in_vain(meeting, work, value, 1);
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
    look_in_vain(meeting, work, value, 1);
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
      look_in_vain(meeting, work, value, 10);
      compute.open();
      comm.wait(std::move(work));
      EXPECT_EQ(value, 20);
    });
  }
}

TEST_P(GpuOrder, CollectivesOfSharesTouchBuffersOnceAllAreReady) {
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    for (int late = 0; late < 2; ++late) {
      on_two_gpus(GetParam(), [kind, late](Communicator& comm, ComputeStream& compute, Meeting& meeting) {
        float values[2] = {1, 1};
        float& own = values[comm.rank().value];
        if (comm.rank() != Rank(late)) compute.open();
        const std::int64_t shares[] = {4, 4};
        compute.write(values[0], 10);
        Work work = comm.collective({.kind = kind,
                                     .buffer = {values, 8, ElementType::f32, true, compute.write(values[1], 10)},
                                     .shares = Shares(shares)});
        look_in_vain(meeting, work, own, 10);
        compute.open();
        comm.wait(std::move(work));
        EXPECT_EQ(own, kind == CollectiveKind::reduce_scatter ? 20 : 10);
      });
    }
  }
}

TEST_P(GpuOrder, ABroadcastIsReadAndWrittenOnceItsBuffersAreReady) {
  for (int late = 0; late < 2; ++late) {
    on_two_gpus(GetParam(), [late](Communicator& comm, ComputeStream& compute, Meeting& meeting) {
      const bool is_root = comm.rank() == Rank(0);
      float value = 1, earlier = 0;
      if (comm.rank() != Rank(late)) compute.open();
      // The other one writes elsewhere: whoever still reads its buffer reads what was there before.
      Work work = comm.broadcast(on_gpu(value, compute.write(is_root ? value : earlier, 10)), Rank(0));
      if (comm.rank() == Rank(late)) {
        look_in_vain(meeting, work, value, 1);
      } else {
        for (int round = 0; round < 3; ++round) {
          work.test();  // a root may be done before the others are ready
          meeting.arrive_and_wait();
        }
      }
      compute.open();
      comm.wait(std::move(work));
      EXPECT_EQ(value, 10);
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

}  // namespace
}  // namespace parabench::comm
