#include "parallelism/plan/ties.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "parallelism/plan/skip_ports.h"

namespace parabench::plan {
namespace {

std::string parameter_name(const models::ModelSpec& model, const models::ParameterPlace& place) {
  return models::parameters(model.layers[place.layer])[place.parameter].name;
}

std::string rule_text(const VersionRule& rule) {
  const std::string updates = std::to_string(rule.lag) + (rule.lag == 1 ? " update" : " updates") + " behind";
  return rule.steps_per_update == 1 ? updates
                                    : updates + ", one per " + std::to_string(rule.steps_per_update) + " steps";
}

[[noreturn]] void refuse(const models::ModelSpec& model, const std::string& expected, const std::string& hint) {
  throw usage_error("model", model.name, expected, hint);
}

}  // namespace

std::optional<TiedSegments> tied_segments(const Plan& plan, const models::ModelSpec& model) {
  if (!model.tie) return std::nullopt;
  const auto& [original, copy] = *model.tie;
  TiedSegments tie{segment_of(plan.segments, original.layer), segment_of(plan.segments, copy.layer)};
  const StageId first = stage_of(plan, tie.original), last = stage_of(plan, tie.copy);
  const std::string names = parameter_name(model, original) + " and " + parameter_name(model, copy) + " are one tensor";
  const VersionRule &rule = plan.versions[first.value], &other = plan.versions[last.value];
  if (rule != other) {
    refuse(model,
           "a model without tied tensors for " + plan.spec.strategy.name + ": " + names + ", of which stage " +
               std::to_string(first.value) + " would read weights " + rule_text(rule) + " and stage " +
               std::to_string(last.value) + " weights " + rule_text(other),
           "try tied=off, or a strategy whose stages read the same version, such as 1f1b or pipedream-2bw");
  }
  const std::vector<Rank> of_original = holders(plan, first), of_copy = holders(plan, last);
  std::vector<Rank> both;
  std::ranges::set_intersection(of_original, of_copy, std::back_inserter(both));
  tie.shared = !both.empty();
  if (tie.shared && of_original != of_copy) {
    refuse(model, "the same ranks, or different ones, for the stages of both: " + names,
           "try tied=off, or a schedule that has its first and last stage on one rank, or on two");
  }
  return tie;
}

std::vector<Rank> tie_members(const Plan& plan, Rank rank) {
  const StageId first = stage_of(plan, plan.tie->original), last = stage_of(plan, plan.tie->copy);
  const Holding* own = find_holding(plan, rank, first);
  if (!own) own = find_holding(plan, rank, last);
  std::vector<Rank> members;
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
    for (const StageId stage : {first, last}) {
      const Holding* holding = find_holding(plan, r, stage);
      if (holding && holding->replica == own->replica && holding->shard == own->shard) members.push_back(r);
    }
  }
  return members;
}

Plan add_tied_sums(Plan plan, const models::ModelSpec& model) {
  plan.tie = tied_segments(plan, model);
  if (!plan.tie || plan.tie->shared) return plan;
  const StageId stage = stage_of(plan, plan.tie->original);
  std::set<std::vector<Rank>> groups;
  for (const Rank r : holders(plan, stage)) groups.insert(tie_members(plan, r));
  for (const std::vector<Rank>& ranks : groups) {
    const GroupId group(static_cast<int>(plan.groups.size()));
    plan.groups.push_back({Axis::pipeline, ranks});
    for (StepId step; step.value < plan.steps; ++step) {
      if (!is_update_due(plan, stage, step)) continue;
      const Op sum = all_reduce_tied(plan.tie->original, step, group);
      for (const Rank r : ranks) plan.ranks[r.value].lane(lane_of(sum)).push_back(sum);
    }
  }
  return plan;
}

}  // namespace parabench::plan
