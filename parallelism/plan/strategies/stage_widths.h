// How many ranks share each stage, where a strategy replicates stages unequally.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/case.h"
#include "base/enum_text.h"
#include "parallelism/plan/partition/replicated_stage.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

constexpr std::array<std::string_view, 4> names_of(SyncModel) { return {"ring", "xp", "sosp", "code"}; }

/// What the strategy's parameter `replicas` accepts.
inline constexpr std::string_view replicas_expected = "auto, or the ranks of each stage joined by -";

/// Whether the strategy's parameter is replicas=auto: plan_replication() decides.
bool plans_widths(const Case& spec);
/// From the strategy's parameter `replicas` ("3-1": three ranks for the first stage, one for the second); without it
/// one rank per stage. Throws usage_error for what is no such list, or does not add up to np. Not for replicas=auto.
std::vector<int> stage_widths(const Case& spec);
/// Ranks that hold each stage of a plan; the record's `replicas`.
std::vector<int> stage_widths(const Plan& plan);
/// What the planner pays for replicas, the parameter `sync` of replicas=auto: "ring" (the default), "xp" (the
/// preprint's), "sosp", "code". Throws usage_error for any other, and where replicas are not planned.
SyncModel sync_model(const Case& spec);

}  // namespace parabench::plan
