#include "parallelism/plan/gathers.h"

#include <algorithm>
#include <utility>

#include "parallelism/plan/ties.h"

namespace parabench::plan {

GatherIndex::GatherIndex(const Plan& plan, Rank rank)
    : plan_(plan), rank_(rank), buffers_(buffers_of(plan, rank, plan.room.weights)) {
  const std::size_t runs = buffers_.runs.size() * plan.steps;
  for (auto* refs : {&first_, &last_, &last_forward_, &last_backward_}) refs->resize(runs);
  const auto& lanes = plan.ranks[rank.value].lanes;
  const auto& compute = lanes[compute_lane].ops;
  for (int i = 0; i < std::ssize(compute); ++i) {
    if (!is_pass(compute[i].kind)) continue;
    auto& last = compute[i].kind == OpKind::forward ? last_forward_ : last_backward_;
    for (const SegmentId s : read(compute[i]))
      if (knows(s)) last[place(s, compute[i].step)] = OpRef{rank, compute_lane, i};
  }
  for (int lane = 0; lane < std::ssize(lanes); ++lane) {
    if (is_collectives_of(lanes[lane].key, Payload::parameters)) add(lane);
  }
}

bool GatherIndex::bring(const Op& pass, std::vector<OpRef>& found) const {
  const auto before = std::ssize(found);
  for (const SegmentId s : read(pass)) {
    if (!knows(s)) continue;
    const auto& ref = (pass.kind == OpKind::forward ? first_ : last_)[place(s, pass.step)];
    if (!ref) return false;
    if (std::find(found.begin() + before, found.end(), *ref) == found.end()) found.push_back(*ref);
  }
  return true;
}

std::optional<OpRef> GatherIndex::last_reader(const OpRef& gather) const {
  const auto& replaced = replaced_.at(gather.lane)[gather.index];
  if (!replaced) return std::nullopt;
  const Op& op = at(plan_, *replaced);
  const std::size_t run = place(op.segment, op.step);
  return last_[run] == replaced ? last_backward_[run] : last_forward_[run];
}

std::size_t GatherIndex::place(SegmentId s, StepId step) const {
  return static_cast<std::size_t>(buffers_.run_of[s.value]) * plan_.steps + step.value;
}

std::vector<SegmentId> GatherIndex::read(const Op& pass) const {
  if (const auto original = shared_original(plan_, pass.segment)) return {pass.segment, *original};
  return {pass.segment};
}

void GatherIndex::add(int lane) {
  const auto& ops = plan_.ranks[rank_.value].lanes[lane].ops;
  auto& replaced = replaced_[lane];
  replaced.resize(ops.size());
  std::vector<std::optional<OpRef>> there(buffers_.count);
  for (int i = 0; i < std::ssize(ops); ++i) {
    if (!knows(ops[i].segment)) continue;
    const OpRef ref{rank_, lane, i};
    const std::size_t run = place(ops[i].segment, ops[i].step);
    if (!first_[run]) first_[run] = ref;
    last_[run] = ref;
    replaced[i] = std::exchange(there[buffers_.of(ops[i].segment)], ref);
  }
}

}  // namespace parabench::plan
