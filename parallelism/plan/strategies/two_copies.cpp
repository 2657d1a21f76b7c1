#include "parallelism/plan/strategies/two_copies.h"

#include <algorithm>

#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "parallelism/plan/validate.h"

namespace parabench::plan {
namespace {

int copies_of(const Case& spec) {
  const Strategy& strategy = find_strategy(spec.strategy.name);
  switch (strategy.ranks) {
    case RankUse::replicas: return spec.np;
    case RankUse::stages: return spec.dp;
    case RankUse::one:
    case RankUse::workers:
    case RankUse::either: return 1;
  }
  return 1;
}

/// Whether nothing that a rank does depends on its place among the members of a group.
bool members_do_the_same(const Plan& plan) {
  const auto is_the_same = [](const Op& op) {
    return (!is_collective(op.kind) || op.kind == OpKind::all_reduce) &&
           (op.kind != OpKind::update || op.group.value < 0);
  };
  return !plan.asynchronous && plan.servers.empty() && std::ranges::all_of(plan.ranks, [&](const RankProgram& rank) {
    return std::ranges::all_of(rank.lanes,
                               [&](const Lane& lane) { return std::ranges::all_of(lane.ops, is_the_same); });
  });
}

}  // namespace

int ranks_of_copy(const Case& spec) { return spec.np / std::max(1, copies_of(spec)); }

std::optional<Plan> plan_of_two_copies(const Case& spec, const models::ModelSpec& model, const Profile& profile,
                                       const GivenSchedule* given) {
  const Strategy& strategy = find_strategy(spec.strategy.name);
  const int copies = copies_of(spec);
  check_meaning(spec, model, given);
  if (copies <= 2 || spec.batch % strategy.pieces(spec) != 0 || strategy.delay || spec.shard || spec.zero > 0)
    return std::nullopt;
  Case two = spec;
  two.np = 2 * ranks_of_copy(spec);
  two.dp = std::min(spec.dp, 2);
  two.batch = spec.batch / copies * 2;
  Plan plan = make_plan(two, model, profile, 1, given);
  if (!members_do_the_same(plan)) return std::nullopt;
  require_valid(plan);
  plan.spec = spec;
  plan.replicas = plan.replicas / 2 * copies;
  plan.pieces.resize(plan.replicas, plan.pieces.front());
  return plan;
}

Plan with_all_members(const Plan& two_copies) {
  Plan all = two_copies;
  all.ranks.clear();
  const int written = static_cast<int>(two_copies.ranks.size()), each = written / 2;
  const int copies = two_copies.spec.np / each, replicas = two_copies.replicas / copies;
  for (int r = 0; r < two_copies.spec.np; ++r) {
    const RankProgram& like = two_copies.ranks[r % each];
    RankProgram& rank = all.ranks.emplace_back(
        RankProgram{.holds = like.holds, .weight_versions = like.weight_versions, .in_flight = like.in_flight});
    for (Holding& held : rank.holds) held.replica.value += r / each * replicas;
  }
  for (Group& group : all.groups) {
    const auto of_one = std::ranges::count_if(group.ranks, [&](Rank r) { return r.value < each; });
    const bool joins_copies = 0 < of_one && of_one < std::ssize(group.ranks);
    if (!joins_copies) continue;
    std::vector<Rank> members;
    members.reserve(of_one * copies);
    for (int copy = 0; copy < copies; ++copy) {
      for (const Rank r : group.ranks)
        if (r.value < each) members.emplace_back(copy * each + r.value);
    }
    group.ranks = std::move(members);
  }
  return all;
}

}  // namespace parabench::plan
