// How well a model reproduces what was published.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analytic/validation/fact.h"

namespace parabench::analytic {

struct JudgedRow {
  std::string row;
  Quality quality = Quality::printed;
  double published = 0, predicted = 0;
  /// (predicted - published) / published; of a rate, that of the time which it stands for: published / predicted - 1.
  double error = 0;
};

/// One model on the rows of one quantity of one source.
struct Judgement {
  std::string source;
  Quantity quantity = Quantity::seconds_per_iteration;
  std::string model;
  std::vector<std::pair<std::string, double>> constants;  ///< fitted, on `fit_rows`
  std::vector<std::string> fit_rows;
  std::vector<JudgedRow> tests;  ///< never one of fit_rows
  // Over the tests; of absolute errors:
  double mean = 0, median = 0, p90 = 0, max = 0;
  double median_ratio = 1;                 ///< median of 1 + error
  std::optional<double> rank_correlation;  ///< of predicted and published; none where either is all the same
  std::optional<double> uncertainty;       ///< median of what is known of it, relative to the value
  std::optional<double> source_mean;       ///< mean absolute error that the source states of a model of its own
};

/// In the order in which sources, quantities and models first occur. Throws usage_error with the row's place where a
/// group has no test rows, fewer rows to fit on than constants, rows to fit on and no model with constants, a test row
/// with a constant that no fitted row has, or a configuration for which the model has no finite, positive prediction.
std::vector<Judgement> judge(std::span<const Fact> facts);

}  // namespace parabench::analytic
