// What a launch that calibrated and trained in turn says of the model.
#pragma once

#include <vector>

#include "results/record.h"
#include "suite/protocol/paired_rounds.h"
#include "suite/run/forecast.h"

namespace parabench::suite {

/// Predicts the steps of each round from what that round calibrated, beside their measured median. The plan is the
/// forecast's, which the launch trained. Throws environment_error where a round lacks a time that the plan needs.
std::vector<results::PairedRound> pair_rounds(const protocol::PairedRounds& answer, const Subject& subject,
                                              const plan::Plan& plan);

}  // namespace parabench::suite
