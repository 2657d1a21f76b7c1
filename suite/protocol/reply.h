// What a launch that went well answers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "base/json_reader.h"
#include "results/record.h"
#include "suite/protocol/exchange_work.h"
#include "suite/protocol/offer.h"
#include "suite/protocol/paired_rounds.h"
#include "suite/protocol/phase.h"

namespace parabench::protocol {

/// What another product that trains the same has to reach.
struct HandOver {
  std::vector<double> losses;  ///< of the first steps
};

/// One alternative per phase, in the order of Phase.
using Answer = std::variant<Offer, results::Equivalence, results::Measured, analytic::Calibration, PairedRounds,
                            HandOver, ExchangeTimings>;

struct Reply {
  std::string plan_hash;               ///< of the plan or the work that the ranks were given; "" for a probe
  std::string private_arenas_because;  ///< "" where they are shared
  Answer answer;
};
Phase phase_of(const Reply& reply);

nlohmann::json to_json(const Reply& reply);
/// Throws usage_error naming the place, also for a reply to another phase and for a loss that is no number.
Reply reply_from_json(const JsonReader& reader, Phase phase);

}  // namespace parabench::protocol
