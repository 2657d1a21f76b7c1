#include "parallelism/plan/passes/pieces.h"

#include <utility>
#include <vector>

#include "parallelism/plan/state/buffers.h"

namespace parabench::plan {
namespace {

/// Writes one rank's compute lane and its lanes of reduce-scatters anew.
class Scatter {
 public:
  Scatter(const Plan& plan, Rank rank, int room)
      : program_(plan.ranks[rank.value]), buffers_(buffers_of(plan, rank, room)), open_(buffers_.count) {
    for (Lane& lane : program_.lanes)
      if (is_collectives_of(lane.key, Payload::gradients)) lane.ops.clear();
    groups_.resize(buffers_.runs.size());
    for (const Op& op : program_.compute())
      if (op.kind == OpKind::update && op.group.value >= 0) groups_[buffers_.run_of[op.segment.value]] = op.group;
  }

  RankProgram write() {
    for (const Op& op : std::exchange(program_.compute(), {})) {
      if (!is_pass(op.kind)) add_all();  // norms and updates
      const bool shared = makes_weight_gradient(op.kind) && buffers_.run_of[op.segment.value] >= 0;
      if (shared) take_room(op);
      ops_.push_back(op);
      if (shared) made(op);
    }
    program_.compute() = std::move(ops_);
    return std::move(program_);
  }

 private:
  /// What a buffer has: the gradients that a micro-batch made of a run's segments so far.
  struct Open {
    int run = -1;
    MicroBatchId micro_batch;
    int segments = 0;
  };

  Open& open(const Op& pass) { return open_[buffers_.of(pass.segment)]; }

  void take_room(const Op& pass) {
    Open& there = open(pass);
    const int run = buffers_.run_of[pass.segment.value];
    if (there.run == run && there.micro_batch == pass.micro_batch) return;
    std::size_t end = waiting_.size();
    while (end > 0 && !is_of(waiting_[end - 1], there)) --end;
    add(end);
    there = {run, pass.micro_batch};
  }

  void made(const Op& pass) {
    Open& there = open(pass);
    const SegmentRun& run = buffers_.runs[there.run];
    if (++there.segments < run.segments) return;
    const GroupId group = groups_[there.run];
    const Op sum = reduce_scatter_piece(run.first, run.segments, pass.micro_batch, pass.step, group);
    program_.lane(lane_of(sum)).push_back(sum);
    waiting_.push_back(add_share(run.first, run.segments, pass.micro_batch, pass.step, group));
  }

  bool is_of(const Op& share, const Open& there) const {
    return buffers_.run_of[share.segment.value] == there.run && share.micro_batch == there.micro_batch;
  }

  void add(std::size_t count) {
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
    ops_.insert(ops_.end(), waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
  }
  void add_all() { add(waiting_.size()); }

  RankProgram program_;
  Buffers buffers_;
  std::vector<GroupId> groups_;  ///< by run
  std::vector<Open> open_;       ///< by buffer
  std::vector<Op> waiting_;      ///< shares that are still to be added, in the order of their sums
  std::vector<Op> ops_;
};

}  // namespace

Plan scatter_pieces(Plan plan, int room) {
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) plan.ranks[r.value] = Scatter(plan, r, room).write();
  plan.scatters_pieces = true;
  plan.room.gradients = room;
  return plan;
}

}  // namespace parabench::plan
