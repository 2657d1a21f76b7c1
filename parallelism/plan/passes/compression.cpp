#include "parallelism/plan/passes/compression.h"

#include <algorithm>
#include <utility>

#include "base/compression.h"

namespace parabench::plan {
namespace {

/// A sum of gradients, and where on the compute lane the last of them is made.
struct Sum {
  Op op;
  int complete = -1;
};

Op step_of(OpKind kind, const Op& sum) {
  return compression_step(kind, sum.segment, sum.segments, sum.step, sum.group);
}

bool covers(const Op& run, SegmentId segment) {
  return run.segment <= segment && segment.value < run.segment.value + run.segments;
}

class Rewriting {
 public:
  Rewriting(const Plan& plan, RankProgram& rank, const Compression& by) : plan_(plan), rank_(rank), by_(by) {}

  void run() {
    std::vector<Op> ops = std::move(rank_.compute());
    for (const Op& op : take_sums()) sums_.push_back({op, last_gradient(ops, op)});
    std::ranges::stable_sort(sums_, {}, &Sum::complete);
    std::vector<Op>& result = rank_.compute();
    result.clear();
    std::size_t encoded = 0, projected = 0;
    const auto project_until = [&](std::size_t end) {
      for (; by_.kind == CompressionKind::powersgd && projected < end; ++projected)
        result.push_back(step_of(OpKind::project, sums_[projected].op));
    };
    for (int i = 0; i < std::ssize(ops); ++i) {
      if (ops[i].kind == OpKind::update) {
        project_until(sums_.size());
        for (const Sum& sum : sums_)
          if (covers(ops[i], sum.op.segment)) result.push_back(step_of(OpKind::decode, sum.op));
      }
      result.push_back(ops[i]);
      for (; encoded < sums_.size() && sums_[encoded].complete == i; ++encoded) {
        result.push_back(step_of(OpKind::encode, sums_[encoded].op));
        project_until(encoded);
      }
    }
  }

 private:
  /// Leaves collectives of what is sent instead.
  std::vector<Op> take_sums() {
    std::vector<Op> sums;
    for (const Lane& lane : rank_.lanes)
      if (is_collectives_of(lane.key, Payload::gradients)) sums.insert(sums.end(), lane.ops.begin(), lane.ops.end());
    std::erase_if(rank_.lanes, [](const Lane& lane) { return is_collectives_of(lane.key, Payload::gradients); });
    const OpKind collective = by_.kind == CompressionKind::topk ? OpKind::all_gather : OpKind::all_reduce;
    for (const Op& sum : sums) {
      add(collective, Payload::encoded, sum);
      if (by_.kind == CompressionKind::powersgd) add(collective, Payload::projected, sum);
    }
    return sums;
  }

  void add(OpKind collective, Payload payload, const Op& sum) {
    const Op op = compressed_sum(collective, payload, sum.segment, sum.segments, sum.step, sum.group);
    rank_.lane(lane_of(op)).push_back(op);
  }

  int last_gradient(const std::vector<Op>& ops, const Op& sum) const {
    const auto& tie = plan_.tie;
    int last = -1;
    for (int i = 0; i < std::ssize(ops); ++i) {
      const bool of_tie = tie && tie->shared && covers(sum, tie->original) && ops[i].segment == tie->copy;
      if (makes_weight_gradient(ops[i].kind) && (covers(sum, ops[i].segment) || of_tie)) last = i;
    }
    return last;
  }

  const Plan& plan_;
  RankProgram& rank_;
  const Compression& by_;
  std::vector<Sum> sums_;  ///< in the order in which they can start
};

}  // namespace

Plan compress_sums(Plan plan) {
  const Compression by = compression(plan.spec);
  if (!by.is_on()) return plan;
  for (RankProgram& rank : plan.ranks) Rewriting(plan, rank, by).run();
  return plan;
}

}  // namespace parabench::plan
