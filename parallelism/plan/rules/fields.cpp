#include <algorithm>

#include "parallelism/plan/matching.h"
#include "parallelism/plan/rules/rules.h"

namespace parabench {
namespace {

class FieldCheck {
 public:
  FieldCheck(const Plan& plan, Violations& found) : plan_(plan), found_(found) {}

  void check() {
    check_segments();
    check_pieces();
    check_ranks();
    for (int r = 0; r < static_cast<int>(plan_.ranks.size()); ++r) check_rank(Rank(r));
  }

 private:
  void complain(OpRef where, std::string rule, std::string text) {
    found_.push_back({where, std::move(rule), std::move(text)});
  }

  void check_segments() {
    int layer = 0, stage = 0;
    for (std::size_t i = 0; i < plan_.segments.size(); ++i) {
      const Segment& s = plan_.segments[i];
      const bool starts_stage = i > 0 && s.stage.value == stage + 1;
      if (s.first_layer != layer || s.layers < 1 || (s.stage.value != stage && !starts_stage)) {
        complain({}, "segments", "segment " + std::to_string(i) + " does not follow its neighbour");
      }
      layer = s.first_layer + s.layers;
      stage = s.stage.value;
    }
    if (plan_.segments.empty() || stage + 1 != plan_.stages) {
      complain({}, "segments",
               "the segments make " + std::to_string(stage + 1) + " stages, not " + std::to_string(plan_.stages));
    }
  }

  void check_pieces() {
    int smallest = plan_.spec.batch, largest = 0, sum = 0;
    bool ragged = static_cast<int>(plan_.pieces.size()) != plan_.replicas;
    for (const auto& replica : plan_.pieces) {
      ragged |= replica.empty() || replica.size() != plan_.pieces.front().size();
      for (int samples : replica) {
        smallest = std::min(smallest, samples);
        largest = std::max(largest, samples);
        sum += samples;
      }
    }
    if (ragged)
      complain({}, "samples",
               "pieces: expected as many for each of the " + std::to_string(plan_.replicas) + " replicas");
    if (smallest < 1 || largest - smallest > 1) {
      complain({}, "samples",
               "pieces of " + std::to_string(smallest) + " to " + std::to_string(largest) +
                   " samples: expected sizes >= 1 that differ by one at most");
    }
    if (sum != plan_.spec.batch) {
      complain({}, "samples",
               "pieces hold " + std::to_string(sum) + " samples, the batch " + std::to_string(plan_.spec.batch));
    }
    if (plan_.steps < 1) complain({}, "steps", "a window of " + std::to_string(plan_.steps) + " steps");
  }

  void check_ranks() {
    std::vector<int> holders(static_cast<std::size_t>(std::max(0, plan_.stages)) * std::max(0, plan_.replicas), 0);
    for (int r = 0; r < static_cast<int>(plan_.ranks.size()); ++r) {
      const RankProgram& rank = plan_.ranks[r];
      bool misplaced = rank.holds.empty() || rank.weight_versions < 1 || rank.in_flight < 0;
      StageId before(-1);
      for (const Holding& h : rank.holds) {
        misplaced |= h.stage <= before || h.stage.value >= plan_.stages || h.replica < 0 || h.replica >= plan_.replicas;
        before = h.stage;
      }
      if (misplaced) {
        complain({Rank(r)}, "placement", "rank " + std::to_string(r) + " has no place in the mesh");
        continue;
      }
      for (const Holding& h : rank.holds) ++holders[h.replica * plan_.stages + h.stage.value];
    }
    if (std::ranges::any_of(holders, [](int n) { return n < 1; })) {
      complain({}, "placement", "expected a rank for each stage of each replica");
    }
    const auto wrong = [](const VersionRule& rule) { return rule.lag < 0 || rule.steps_per_update < 1; };
    if (std::ssize(plan_.versions) != plan_.stages || std::ranges::any_of(plan_.versions, wrong)) {
      complain({}, "version", "expected a rule of weight versions for each stage");
    }
  }

  void check_rank(Rank r) {
    const auto& lanes = plan_.ranks[r.value].lanes;
    for (int l = 0; l < static_cast<int>(lanes.size()); ++l) {
      for (int i = 0; i < static_cast<int>(lanes[l].ops.size()); ++i) {
        const std::string wrong = wrong_field(lanes[l].ops[i], r, lanes[l]);
        if (wrong.empty()) continue;
        const OpRef ref{r, l, i};
        complain(ref, "fields", describe(plan_, ref) + ": " + wrong + " out of range");
      }
    }
  }

  std::string wrong_field(const Op& op, Rank rank, const Lane& lane) const {
    const int segments = static_cast<int>(plan_.segments.size()), ranks = static_cast<int>(plan_.ranks.size());
    if (lane_kind(op.kind) != lane.kind) return "lane";
    if (op.segment.value < 0 || op.segments < 1 || op.segment.value + op.segments > segments) return "segment";
    if (op.segments > 1 && !is_over_run(op.kind)) return "segment";
    if (op.step < 0 || op.step >= plan_.steps) return "step";
    if (op.micro_batch.value < 0 || plan_.pieces.empty() || op.micro_batch.value >= micro_batches(plan_)) {
      return "micro-batch";
    }
    if (is_message(op.kind) &&
        (op.peer.value < 0 || op.peer.value >= ranks || op.peer == rank || op.peer.value != lane.key)) {
      return "peer";
    }
    const bool of_other_stage = lane.kind == LaneKind::collectives && (stage_of(plan_, op.segment).value != lane.key ||
                                                                       replica_of(plan_, rank, op.segment) < 0);
    return of_other_stage ? "stage" : "";
  }

  const Plan& plan_;
  Violations& found_;
};

}  // namespace

void check_fields(const Plan& plan, Violations& found) { FieldCheck(plan, found).check(); }

}  // namespace parabench
