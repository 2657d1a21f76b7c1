// What a launch that calibrated and trained in turn says of the model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analytic/costs/costs.h"
#include "results/record.h"
#include "suite/protocol/paired_rounds.h"
#include "suite/run/forecast.h"

namespace parabench::suite {

/// Predicts the steps of each round from what that round calibrated, beside their measured median. The plan is the
/// forecast's, which the launch trained. Throws environment_error where a round lacks a time that the plan needs.
std::vector<results::PairedRound> pair_rounds(const protocol::PairedRounds& answer, const Subject& subject,
                                              const plan::Plan& plan);

/// What the plan's steps of a round are predicted from. Throws environment_error where the round lacks a time of a
/// layer that the sizes' model has, and where it rehearsed another number of operations.
analytic::Costs costs_of(const protocol::PairedRound& round, const analytic::Sizes& sizes, const plan::Plan& plan);

/// Where the rounds of a case are kept in a folder for them.
std::filesystem::path rounds_file(const std::filesystem::path& folder, const std::string& id);
/// Makes the folder. Throws Error where it cannot be written.
void keep_rounds(const protocol::PairedRounds& answer, const std::filesystem::path& folder, const std::string& id);
/// nullopt where none are kept. Throws usage_error naming file and place for what are none.
std::optional<protocol::PairedRounds> kept_rounds(const std::filesystem::path& folder, const std::string& id);

}  // namespace parabench::suite
