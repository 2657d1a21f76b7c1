// Whether predictions would have chosen what was measured to be the fastest.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/accuracy.h"
#include "results/accuracy_figures.h"
#include "results/difference.h"

namespace parabench::suite {

/// Among cases that could be an advice for the same question.
struct Choice {
  std::string question;  ///< their id without strategy and is_chosen_key()s: "mlp/cifar10-synthetic/np:2/batch:32"
  int candidates = 0;
  std::string predicted_best, measured_best;
  results::Difference regret;  ///< how much longer the predicted best takes, measured, than the measured best
  bool is_exact() const { return predicted_best == measured_best; }
  bool is_right() const { return is_exact() || regret.is_tie(); }
};

/// The choices that forecasts would have made, by question: among the cases that train as sequential training does,
/// where there are two or more. Times are medians over passes, noise is that of the passes. Notes in each of these
/// cases what it was (JudgedCase::choice). O(n log n).
std::vector<Choice> judge_choices(std::vector<results::JudgedCase>& cases);

struct ChoiceFigures {
  int questions = 0, right = 0, exact = 0;
  double mean_regret = 0, largest_regret = 0;  ///< over all of them, ties included
  std::optional<results::Interval> mean_regret_ci95;
};
ChoiceFigures figures_of(std::span<const Choice> choices);

/// "picks the measured best in 5 of 6 groups, ..." and the choices that were not right; "" without any.
std::string choices_text(std::span<const Choice> choices);
/// The figures, and all choices.
nlohmann::json choices_json(std::span<const Choice> choices);

}  // namespace parabench::suite
