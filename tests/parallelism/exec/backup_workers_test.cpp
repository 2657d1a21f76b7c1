// Servers that take the gradients that come first, with workers that are held back at moments of the plan.
#include <gmock/gmock.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/equivalence.h"
#include "parallelism/exec/training_work.h"
#include "parallelism/plan/matching.h"
#include "parallelism/plan/routes.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr double tolerance = 1e-9;

/// What all ranks have ended, for whoever is held back until then.
class Board {
 public:
  void note(Rank rank, const plan::Op& op) {
    {
      const std::lock_guard lock(mutex_);
      ended_[rank].push_back(op);
    }
    changed_.notify_all();
  }
  /// Blocks until the rank has ended as many operations of which `is_meant` is true.
  void await(Rank rank, int count, const std::function<bool(const plan::Op&)>& is_meant) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::ranges::count_if(ended_[rank], is_meant) >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Rank, std::vector<plan::Op>> ended_;
};

/// Before an operation of a compute lane: returns when it may be computed.
using Hold = std::function<void(const plan::Plan&, Rank, const plan::Op&, Board&)>;

class HeldWork final : public RankWork {
 public:
  HeldWork(RankWork& inner, const plan::Plan& plan, Rank rank, const Hold& hold, Board& board)
      : inner_(inner), plan_(plan), rank_(rank), hold_(hold), board_(board) {}
  void enter(bool computes) override { inner_.enter(computes); }
  void queue(int index) override { inner_.queue(index); }
  void begin(int index) override { inner_.begin(index); }
  void compute(int index) override {
    const plan::Op& op = plan_.ranks[rank_.value].compute()[index];
    hold_(plan_, rank_, op, board_);
    inner_.compute(index);
    board_.note(rank_, op);
  }
  void adds(int index, std::vector<plan::OpRef> awaited) override { inner_.adds(index, std::move(awaited)); }
  void comes_too_late(StepId step) override { inner_.comes_too_late(step); }
  void finish() override { inner_.finish(); }
  plan::Span computed(int index) const override { return inner_.computed(index); }
  bool is_done(int index) const override { return inner_.is_done(index); }
  comm::Work start(int lane, int index) override { return inner_.start(lane, index); }
  void given_out(int lane, int index, const comm::DeviceSpan& span) override { inner_.given_out(lane, index, span); }
  void end(int lane, int index) override {
    inner_.end(lane, index);
    board_.note(rank_, plan_.ranks[rank_.value].lanes[lane].ops[index]);
  }
  double patience_s() override { return inner_.patience_s(); }
  plan::Span transferred(int lane, int index, const plan::Span& seen) const override {
    return inner_.transferred(lane, index, seen);
  }

 private:
  RankWork& inner_;
  const plan::Plan& plan_;
  Rank rank_;
  const Hold& hold_;
  Board& board_;
};

/// Trains by a plan on threads, of which some are held back.
Trained train(const plan::Plan& plan, const models::ModelSpec& model, const Hold& hold) {
  static MemoryAccount accounts[8];
  Board board;
  Trained trained;
  trained.parameters.resize(plan.ranks.size());
  trained.buffers.resize(plan.ranks.size());
  std::mutex mutex;
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
    StageState state(plan, model, comm, *device);
    RankInput input = open_input(plan, comm.rank(), small_source(), {}, *device);
    const plan::LocalDependencies needs = plan::dependencies(plan, comm.rank());
    TrainingWork work(plan, model, state, needs, comm, input, *device, std::nullopt);
    HeldWork held(work, plan, comm.rank(), hold, board);
    run_lanes(plan, needs, comm, held);
    const Execution execution = work.take_result();
    Arrivals arrivals = gather_arrivals(plan, execution, comm);
    StageState::Snapshot mine = state.snapshot();
    const std::lock_guard lock(mutex);
    if (comm.rank() == Rank(0)) trained.arrivals = std::move(arrivals);
    trained.parameters[comm.rank().value] = std::move(mine.parameters);
    trained.buffers[comm.rank().value] = std::move(mine.buffers);
  });
  return trained;
}

plan::Plan window(const std::string& rest, int steps) {
  const models::ModelSpec model = small_network();
  return small_pieces(small_plan("parameter-server" + rest, steps, model), model, steps);
}

Difference difference(const plan::Plan& plan, const Trained& trained, const Arrivals& arrivals) {
  const models::ModelSpec model = small_network();
  return compare(plan, model, trained, train_reference(plan, model, plan.steps, small_source(), {}, {}, arrivals));
}

void expect_trained(const plan::Plan& plan, const Trained& trained) {
  const Difference found = difference(plan, trained, trained.arrivals);
  EXPECT_LE(found.update, tolerance) << found.worst_parameter;
  EXPECT_LE(found.buffer, tolerance);
}

bool is_first_backward(const plan::Plan& plan, const plan::Op& op) {
  return op.kind == plan::OpKind::backward && op.segment == plan::last_segment(plan);
}

/// Until the servers from `first` on have updated all that they have in the step.
void await_updates(const plan::Plan& plan, StepId step, Board& board, int first = 0) {
  for (std::size_t s = first; s < plan.servers.size(); ++s) {
    const auto updates = [step](const plan::Op& op) { return op.kind == plan::OpKind::update && op.step == step; };
    const auto count = std::ranges::count_if(plan.ranks[plan.servers[s].value].compute(), updates);
    board.await(plan.servers[s], static_cast<int>(count), updates);
  }
}

/// In step t worker t mod 3 makes no gradients before the step's weights are updated.
void hold_by_turns(const plan::Plan& plan, Rank rank, const plan::Op& op, Board& board) {
  if (is_first_backward(plan, op) && rank.value == op.step.value % 3) await_updates(plan, op.step, board);
}

TEST(BackupWorkers, WhoIsHeldBackIsNotTakenAndTheRestIsTrained) {
  for (const char* rest : {"[mode=backup]/np:4/batch:12", "[mode=backup]/np:4/batch:6/bucket:1KiB/optimizer:adam",
                           "[servers=2,mode=backup]/np:5/batch:9/bucket:1KiB/weight_decay:0.1"}) {
    const plan::Plan plan = window(rest, 6);
    const Trained trained = train(plan, small_network(), hold_by_turns);
    for (const auto& server : trained.arrivals.taken) {
      EXPECT_THAT(server, ElementsAre(ElementsAre(ReplicaId(1), ReplicaId(2)), ElementsAre(ReplicaId(0), ReplicaId(2)),
                                      ElementsAre(ReplicaId(0), ReplicaId(1)), ElementsAre(ReplicaId(1), ReplicaId(2)),
                                      ElementsAre(ReplicaId(0), ReplicaId(2)), ElementsAre(ReplicaId(0), ReplicaId(1))))
          << rest;
    }
    expect_trained(plan, trained);
  }
}

// Worker 1 is late for the server of the last layers, which come first in a backward, worker 0 for that of the others.
TEST(BackupWorkers, ServersMayTakeDifferentWorkers) {
  const plan::Plan plan = window("[servers=2,mode=backup]/np:5/batch:9", 4);
  const Trained trained =
      train(plan, small_network(), [](const plan::Plan& of, Rank rank, const plan::Op& op, Board& board) {
        if (rank == Rank(1) && is_first_backward(of, op)) await_updates(of, op.step, board, /*first=*/1);
        const bool comes_to_first_stage =
            op.kind == plan::OpKind::backward && op.segment == plan::segments_of(of, StageId(0)).last;
        if (rank == Rank(0) && comes_to_first_stage) await_updates(of, op.step, board);
      });
  EXPECT_THAT(trained.arrivals.taken[0], Each(ElementsAre(ReplicaId(1), ReplicaId(2))));
  EXPECT_THAT(trained.arrivals.taken[1], Each(ElementsAre(ReplicaId(0), ReplicaId(2))));
  expect_trained(plan, trained);
}

// Worker 1 goes backward in step 0 when it has the weights of two steps more: of step 1 those that its update wrote.
TEST(BackupWorkers, WhoHasNewerWeightsBeforeAStepComputesNothingInIt) {
  const plan::Plan plan = window("[mode=backup]/np:4/batch:12/bucket:1KiB", 5);
  const Trained trained =
      train(plan, small_network(), [](const plan::Plan& of, Rank rank, const plan::Op& op, Board& board) {
        if (rank != Rank(1) || !is_first_backward(of, op) || op.step != StepId(0)) return;
        const auto newer = [](const plan::Op& receive) {
          return receive.kind == plan::OpKind::receive && receive.step == StepId(1);
        };
        int receives = 0;
        for (const plan::Lane& lane : of.ranks[1].lanes)
          receives += static_cast<int>(std::ranges::count_if(lane.ops, newer));
        board.await(rank, receives, newer);
      });
  EXPECT_THAT(trained.arrivals.taken[0][0], ElementsAre(ReplicaId(0), ReplicaId(2)));
  EXPECT_THAT(trained.arrivals.taken[0][1], ElementsAre(ReplicaId(0), ReplicaId(2)));
  EXPECT_FALSE(trained.arrivals.too_late[1][0]) << "it had begun";
  EXPECT_TRUE(trained.arrivals.too_late[1][1]);
  // From step 2 on nobody is held back, and any of them may be the last.
  for (const int step : {0, 1})
    for (const int other : {0, 2}) EXPECT_FALSE(trained.arrivals.too_late[other][step]) << "it was taken";
  expect_trained(plan, trained);
}

TEST(BackupWorkers, TheGateTellsOtherGradientsThanThoseTaken) {
  const plan::Plan plan = window("[mode=backup]/np:4/batch:12", 4);
  const Trained trained = train(plan, small_network(), hold_by_turns);
  for (int step = 0; step < plan.steps; ++step) {
    Arrivals other = trained.arrivals;
    other.taken[0][step] = {ReplicaId(step % 3), ReplicaId((step + 1) % 3)};
    EXPECT_GT(difference(plan, trained, other).update, 1e-3) << "of step " << step;
  }
  Arrivals none_late = trained.arrivals;
  none_late.too_late[1][2] = !none_late.too_late[1][2];
  EXPECT_GT(difference(plan, trained, none_late).buffer, 1e-6) << "running statistics of who computed nothing";
}

// Without hooks: whoever comes first.
TEST(BackupWorkers, TrainWhatTheRecordOfArrivalsSays) {
  for (const char* rest :
       {"[mode=backup]/np:3/batch:4", "[mode=backup,k=2]/np:4/batch:6/bucket:1KiB", "[mode=backup,k=0]/np:3/batch:7",
        "[servers=2,mode=backup]/np:4/batch:8/bucket:1/recompute:all",
        "[servers=2,mode=backup,k=2]/np:5/batch:9/optimizer:lars/layout:channels_last"}) {
    const plan::Plan plan = window(rest, 6);
    const models::ModelSpec model = small_network();
    Trained trained;
    comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
      static MemoryAccount accounts[8];
      const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
      Trained mine = train_and_gather(plan, model, small_source(), {}, comm, *device);
      if (comm.rank() == Rank(0)) trained = std::move(mine);
    });
    EXPECT_EQ(trained.arrivals.empty(), plan.taken == 0) << rest;
    expect_trained(plan, trained);
  }
}

}  // namespace
}  // namespace parabench::exec
