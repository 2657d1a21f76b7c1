#include "suite/run/pair.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analytic/simulate/predict.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/statistics.h"
#include "suite/run/case_file.h"

namespace parabench::suite {
namespace {

/// So that the parts are of a step as long as that. As they are, of all parts 0.
Breakdown of_step(Breakdown parts, double step_s) {
  double sum = 0;
  for (const auto& [name, part] : breakdown_fields) sum += parts.*part;
  if (!(sum > 0)) return parts;
  for (const auto& [name, part] : breakdown_fields) parts.*part *= step_s / sum;
  return parts;
}

void require_rehearsed(const analytic::ComputeSeconds& seconds, const plan::Plan& plan) {
  const auto is_of = [](const std::vector<double>& rehearsed, const plan::RankProgram& rank) {
    return rehearsed.size() == rank.compute().size();
  };
  if (std::ranges::equal(seconds, plan.ranks, is_of)) return;
  throw environment_error("rehearsed_s", "times of other operations than the plan's",
                          "one of each operation that a rank computes",
                          "rounds of another version of parabench; run the case again, into another folder");
}

}  // namespace

std::vector<results::PairedRound> pair_rounds(const protocol::PairedRounds& answer, const Subject& subject,
                                              const plan::Plan& plan) {
  const analytic::Sizes sizes(subject.model);
  std::vector<results::PairedRound> rounds;
  for (const protocol::PairedRound& round : answer.rounds) {
    const analytic::Costs costs = costs_of(round, sizes, plan);
    const Predicted predicted =
        analytic::predict(plan, sizes, *costs.time, *costs.memory, protocol::paired_warmup, protocol::paired_steps);
    std::vector<Breakdown> of_ranks;
    for (const RankPredicted& rank : predicted.ranks) of_ranks.push_back(rank.breakdown_s);
    const double measured_s = median(round.step_s);
    rounds.push_back({predicted.step_time_s, measured_s});
    if (round.breakdown_s)
      rounds.back().breakdown_s = {of_step(mean(of_ranks), predicted.step_time_s),
                                   of_step(*round.breakdown_s, measured_s)};
  }
  return rounds;
}

analytic::Costs costs_of(const protocol::PairedRound& round, const analytic::Sizes& sizes, const plan::Plan& plan) {
  analytic::Costs costs = analytic::calibrated_costs(round.calibration, sizes);
  if (round.rehearsed_s.empty()) return costs;
  const plan::Plan steps =
      plan::unroll(plan, plan::window(plan, protocol::paired_warmup, protocol::paired_steps).steps());
  require_rehearsed(round.rehearsed_s, steps);
  costs.time = analytic::times_rehearsed(std::move(costs.time), steps, round.rehearsed_s);
  return costs;
}

std::filesystem::path rounds_file(const std::filesystem::path& folder, const std::string& id) {
  return folder / (file_name(id) + ".json");
}

void keep_rounds(const protocol::PairedRounds& answer, const std::filesystem::path& folder, const std::string& id) {
  std::filesystem::create_directories(folder);
  write_atomically(rounds_file(folder, id), protocol::to_json(answer).dump());
}

std::optional<protocol::PairedRounds> kept_rounds(const std::filesystem::path& folder, const std::string& id) {
  const std::filesystem::path file = rounds_file(folder, id);
  if (!std::filesystem::exists(file)) return std::nullopt;
  const nlohmann::json document = read_json(file.string());
  return protocol::paired_rounds_from_json(JsonReader(document, file.string()));
}

}  // namespace parabench::suite
