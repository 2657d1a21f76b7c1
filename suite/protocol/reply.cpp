#include "suite/protocol/reply.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analytic/calibration/calibration_json.h"
#include "base/error.h"
#include "results/record_json.h"
#include "results/record_read.h"

namespace parabench::protocol {
namespace {

using nlohmann::json;

/// The member of the document that holds the answer.
std::string_view answer_key(Phase phase) {
  switch (phase) {
    case Phase::probe: return "offer";
    case Phase::verify: return "equivalence";
    case Phase::measure: return "measured";
    case Phase::calibrate: return "calibration";
    case Phase::paired: return "paired";
    case Phase::hand_over: return "hand_over";
    case Phase::communicate: return "timings";
  }
  return "";
}

/// JSON has no NaN: a loss that is none arrives as null.
void require_numbers(const JsonReader& losses) {
  int step = 0;
  for (const JsonReader& loss : losses.items()) {
    if (!loss.as<std::optional<double>>()) {
      throw usage_error(loss.place(), "null", fmt::format("a finite number at step {}", step),
                        "try a smaller lr, or precision:fp32");
    }
    ++step;
  }
}

Answer answer_from_json(const JsonReader& reader, Phase phase) {
  switch (phase) {
    case Phase::probe: return offer_from_json(reader);
    case Phase::verify: require_numbers(reader.at("reference_losses")); return results::equivalence_from_json(reader);
    case Phase::measure: require_numbers(reader.at("losses")); return results::measured_from_json(reader);
    case Phase::calibrate: return analytic::calibration_from_json(reader);
    case Phase::paired: return paired_rounds_from_json(reader);
    case Phase::hand_over:
      require_numbers(reader.at("losses"));
      return HandOver{reader.get<std::vector<double>>("losses")};
    case Phase::communicate: return exchange_timings_from_json(reader);
  }
  return {};
}

json to_json(const HandOver& answer) { return {{"losses", answer.losses}}; }

}  // namespace

Phase phase_of(const Reply& reply) { return static_cast<Phase>(reply.answer.index()); }

json to_json(const Reply& reply) {
  const Phase phase = phase_of(reply);
  return {{"phase", to_text(phase)},
          {"plan_hash", reply.plan_hash},
          {"communicator", reply.private_arenas_because},
          {answer_key(phase), std::visit([](const auto& answer) { return to_json(answer); }, reply.answer)}};
}

Reply reply_from_json(const JsonReader& reader, Phase phase) {
  if (reader.get<Phase>("phase") != phase) throw reader.at("phase").error(fmt::format("phase {}", to_text(phase)));
  return {reader.get<std::string>("plan_hash"), reader.get<std::string>("communicator"),
          answer_from_json(reader.at(answer_key(phase)), phase)};
}

}  // namespace parabench::protocol
