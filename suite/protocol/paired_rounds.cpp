#include "suite/protocol/paired_rounds.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "analytic/calibration/calibration_json.h"
#include "base/breakdown_json.h"
#include "base/canary_json.h"

namespace parabench::protocol {

namespace {

/// In whole nanoseconds: they are many.
nlohmann::json to_json(const analytic::ComputeSeconds& rehearsed) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const std::vector<double>& of_rank : rehearsed) {
    nlohmann::json& seconds = ranks.emplace_back(nlohmann::json::array());
    for (const double one : of_rank) seconds.push_back(std::round(one * 1e9) / 1e9);
  }
  return ranks;
}

analytic::ComputeSeconds rehearsed_from_json(const JsonReader& ranks) {
  analytic::ComputeSeconds rehearsed;
  for (const JsonReader& rank : ranks.items()) {
    std::vector<double>& of_rank = rehearsed.emplace_back();
    for (const JsonReader& seconds : rank.items()) {
      of_rank.push_back(seconds.as<double>());
      if (!(of_rank.back() >= 0)) throw seconds.error("a time of 0 or more");
    }
  }
  return rehearsed;
}

}  // namespace

nlohmann::json to_json(const PairedRounds& answer) {
  nlohmann::json rounds = nlohmann::json::array();
  for (const PairedRound& round : answer.rounds)
    rounds.push_back({{"calibration", analytic::to_json(round.calibration)},
                      {"step_s", round.step_s},
                      {"breakdown_s", round.breakdown_s ? parabench::to_json(*round.breakdown_s) : nlohmann::json()},
                      {"rehearsed_s", to_json(round.rehearsed_s)}});
  return {{"rounds", std::move(rounds)},
          {"canary", answer.canary ? parabench::to_json(*answer.canary) : nlohmann::json()}};
}

PairedRounds paired_rounds_from_json(const JsonReader& reader) {
  PairedRounds answer;
  for (const JsonReader& item : reader.at("rounds").items()) {
    PairedRound round{analytic::calibration_from_json(item.at("calibration")), item.get<std::vector<double>>("step_s")};
    if (item.has("breakdown_s")) round.breakdown_s = breakdown_from_json(item.at("breakdown_s"));
    if (item.has("rehearsed_s")) round.rehearsed_s = rehearsed_from_json(item.at("rehearsed_s"));
    if (round.step_s.empty()) throw item.at("step_s").error("the times of one step or more");
    for (const double seconds : round.step_s)
      if (!(seconds > 0)) throw item.at("step_s").error("times above 0");
    answer.rounds.push_back(std::move(round));
  }
  if (reader.has("canary")) answer.canary = canary_from_json(reader.at("canary"));
  if (answer.rounds.empty()) throw reader.at("rounds").error("one round or more");
  return answer;
}

}  // namespace parabench::protocol
