#include "suite/advise/candidates.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "base/case_id.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/reference.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::suite {
namespace {

constexpr std::array<std::string_view, 6> chosen_keys = {"micro", "dp", "chunks", "recompute", "zero", "tp"};
constexpr std::array chunk_counts = {2, 4};

std::vector<int> copies_of(const plan::Strategy& strategy, int np) {
  if (!strategy.uses("dp")) return {1};
  std::vector<int> copies;
  for (int dp = 1; dp <= np / 2; ++dp)
    if (np % dp == 0) copies.push_back(dp);
  return copies;
}

/// Whether the holders of a stage, where it has several, share the optimizer's states; as `given`, where that says so.
std::vector<int> zero_stages_of(const plan::Strategy& strategy, int copies, int given) {
  const bool has_holders = copies > 1 || strategy.schedule.stages == plan::StageOrder::crossed;
  return given == 0 && strategy.uses("zero") && has_holders ? std::vector{0, 1} : std::vector{given};
}

std::set<int> micro_batches_of(const plan::Strategy& strategy, const Case& spec) {
  if (!strategy.uses("micro")) return {spec.micro};
  const int ranks = spec.np / spec.dp, most = std::min(8 * ranks, spec.batch / spec.dp);
  std::set<int> counts;
  for (int micro = 2; micro <= most; micro *= 2)
    if (2 * micro >= ranks) counts.insert(plan::served_micro_batches(strategy, spec, micro));
  return counts;
}

/// Of one micro-batch in each direction except-last recomputes nothing.
std::vector<Recompute> recomputations_of(const plan::Strategy& strategy, int micro_batches) {
  std::vector<Recompute> some = {Recompute::none, Recompute::all};
  const int directions = strategy.schedule.stages == plan::StageOrder::crossed ? 2 : 1;
  if (strategy.uses("micro") && micro_batches > directions) some.push_back(Recompute::except_last);
  return some;
}

/// The cases of one strategy on so many copies, with states that are shared or not.
void add_cases(const plan::Strategy& strategy, Case spec, std::vector<Case>& cases) {
  const bool has_chunks = strategy.uses("chunks");
  for (const int chunks : chunk_counts) {
    if (has_chunks) spec.chunks = chunks;
    for (const int micro : micro_batches_of(strategy, spec)) {
      spec.micro = micro;
      for (const Recompute recompute : recomputations_of(strategy, micro)) {
        spec.recompute = recompute;
        cases.push_back(spec);
      }
    }
    if (!has_chunks) return;
  }
}

}  // namespace

bool is_chosen_key(std::string_view key) { return std::ranges::find(chosen_keys, key) != chosen_keys.end(); }

Candidates candidate_cases(const Case& question, const models::ModelSpec& model) {
  std::vector<Case> cases;
  for (const plan::Strategy& strategy : plan::strategies()) {
    if (strategy.from_file || strategy.family == plan::Family::peer) continue;
    Case spec = question;
    spec.strategy = {std::string(strategy.name), {}};
    if (strategy.ranks == plan::RankUse::one) spec.np = 1;
    for (const int copies : copies_of(strategy, spec.np)) {
      spec.dp = copies;
      for (const int zero : zero_stages_of(strategy, copies, question.zero)) {
        spec.zero = zero;
        add_cases(strategy, spec, cases);
      }
      const plan::StrategyParameter* replicas = strategy.find_parameter("replicas");
      if (!replicas) continue;
      Case planned = spec;
      planned.strategy.parameters.emplace_back("replicas", "auto");
      add_cases(strategy, planned, cases);
    }
  }
  Candidates candidates;
  std::set<std::string> seen;
  bool refused_reads_all = false;
  for (const Case& spec : cases) {
    if (!seen.insert(to_id(spec)).second) continue;
    try {
      plan::check_meaning(spec, model);
      candidates.cases.push_back(spec);
    } catch (const Error& error) {
      if (error.code() != ExitCode::usage) throw;
      ++candidates.impossible;
      const bool reads_all = !plan::unused_key(spec);
      if (!candidates.refusal || (reads_all && !refused_reads_all)) {
        candidates.refusal = error;
        refused_reads_all = reads_all;
      }
    }
  }
  return candidates;
}

bool trains_as_sequential(const Case& spec) { return plan::reference_of(spec) == plan::Reference::sequential; }

}  // namespace parabench::suite
