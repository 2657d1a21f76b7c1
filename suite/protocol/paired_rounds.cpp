#include "suite/protocol/paired_rounds.h"

#include <nlohmann/json.hpp>

#include "analytic/calibration/calibration_json.h"
#include "base/breakdown_json.h"
#include "base/canary_json.h"

namespace parabench::protocol {

nlohmann::json to_json(const PairedRounds& answer) {
  nlohmann::json rounds = nlohmann::json::array();
  for (const PairedRound& round : answer.rounds)
    rounds.push_back({{"calibration", analytic::to_json(round.calibration)},
                      {"step_s", round.step_s},
                      {"breakdown_s", round.breakdown_s ? parabench::to_json(*round.breakdown_s) : nlohmann::json()}});
  return {{"rounds", std::move(rounds)},
          {"canary", answer.canary ? parabench::to_json(*answer.canary) : nlohmann::json()}};
}

PairedRounds paired_rounds_from_json(const JsonReader& reader) {
  PairedRounds answer;
  for (const JsonReader& item : reader.at("rounds").items()) {
    PairedRound round{analytic::calibration_from_json(item.at("calibration")), item.get<std::vector<double>>("step_s")};
    if (item.has("breakdown_s")) round.breakdown_s = breakdown_from_json(item.at("breakdown_s"));
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
