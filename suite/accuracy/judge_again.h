// How right predictions would have been that were made from less.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "results/accuracy.h"
#include "results/accuracy_figures.h"

namespace parabench::suite {

/// A pass over a set, and what its predictions were made from.
struct Pass {
  results::ResultsFile results;
  std::optional<analytic::Calibration> calibration;  ///< of its forecasts; nullopt where that is not known
  std::filesystem::path rounds = {};                 ///< folder of the rounds of paired launches (pair.h); "" for none
  std::filesystem::path folder = {};                 ///< of the passes over the same cases
};

/// By which a calibration is stale.
inline constexpr std::chrono::hours stale_age{2};

/// Of the calibrations of other passes of the same folder that are older than this pass's by `stale_age` or more the
/// latest; nullptr without one. Those of other folders may lack what this pass's cases need.
const analytic::Calibration* stale_calibration(std::span<const Pass> passes, const Pass& pass);

/// Errors of all cases without a term of the model.
struct Ablation {
  std::string without;                    ///< "nothing" first
  results::ErrorFigures figures, paired;  ///< of forecasts, and of paired rounds
};

/// pair_again() of every record that counts, whose rounds were kept and whose pass has its calibration.
void pair_again(std::span<Pass> passes);

/// Predicts every case of every pass again (repredict.h), sets JudgedCase::held_out, stale and ddlbench to the median
/// errors over passes, and returns the ablations where `ablate` says so, else nothing.
/// Milliseconds for each prediction of a small case: one to three for a record and one for each round, to ablate as
/// many again for each term.
std::vector<Ablation> judge_again(std::vector<results::JudgedCase>& cases, std::span<const Pass> passes, bool ablate);

/// A table; "" without any.
std::string ablations_text(std::span<const Ablation> ablations);
nlohmann::json ablations_json(std::span<const Ablation> ablations);

}  // namespace parabench::suite
