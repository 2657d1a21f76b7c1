#include "suite/protocol/paired_rounds.h"

#include <nlohmann/json.hpp>

#include "analytic/calibration/calibration_json.h"
#include "base/breakdown_json.h"
#include "base/canary_json.h"

namespace parabench::protocol {

namespace {

nlohmann::json to_json(const std::vector<analytic::PassSeconds>& passes) {
  nlohmann::json list = nlohmann::json::array();
  for (const analytic::PassSeconds& pass : passes)
    list.push_back({{"rank", pass.rank.value},
                    {"segment", pass.segment.value},
                    {"op", to_text(pass.kind)},
                    {"seconds", pass.seconds}});
  return list;
}

std::vector<analytic::PassSeconds> passes_from_json(const JsonReader& list) {
  std::vector<analytic::PassSeconds> passes;
  for (const JsonReader& item : list.items()) {
    passes.push_back({Rank(item.get<int>("rank")), SegmentId(item.get<int>("segment")), item.get<plan::OpKind>("op"),
                      item.get<double>("seconds")});
    if (!(passes.back().seconds > 0)) throw item.at("seconds").error("a time above 0");
  }
  return passes;
}

}  // namespace

nlohmann::json to_json(const PairedRounds& answer) {
  nlohmann::json rounds = nlohmann::json::array();
  for (const PairedRound& round : answer.rounds)
    rounds.push_back({{"calibration", analytic::to_json(round.calibration)},
                      {"step_s", round.step_s},
                      {"breakdown_s", round.breakdown_s ? parabench::to_json(*round.breakdown_s) : nlohmann::json()},
                      {"passes", to_json(round.passes)}});
  return {{"rounds", std::move(rounds)},
          {"canary", answer.canary ? parabench::to_json(*answer.canary) : nlohmann::json()}};
}

PairedRounds paired_rounds_from_json(const JsonReader& reader) {
  PairedRounds answer;
  for (const JsonReader& item : reader.at("rounds").items()) {
    PairedRound round{analytic::calibration_from_json(item.at("calibration")), item.get<std::vector<double>>("step_s")};
    if (item.has("breakdown_s")) round.breakdown_s = breakdown_from_json(item.at("breakdown_s"));
    if (item.has("passes")) round.passes = passes_from_json(item.at("passes"));
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
