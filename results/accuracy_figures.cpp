#include "results/accuracy_figures.h"

#include <algorithm>
#include <array>

#include "base/statistics.h"

namespace parabench::results {
namespace {

std::vector<double> sizes_of(std::span<const double> errors) {
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  return sizes;
}

/// Predicted / measured.
std::vector<double> ratios_of(std::span<const double> errors) {
  std::vector<double> ratios;
  for (const double error : errors) ratios.push_back(1 + error);
  return ratios;
}

}  // namespace

ErrorFigures figures_of(std::span<const double> errors) {
  if (errors.empty()) return {};
  const std::vector<double> sizes = sizes_of(errors);
  return {static_cast<int>(errors.size()),
          mean(sizes),
          median(sizes),
          quantile(sizes, 0.9),
          *std::ranges::max_element(sizes),
          median(ratios_of(errors))};
}

std::optional<Interval> mean_interval(std::span<const double> values) {
  return values.size() < fewest_bootstrapped ? std::nullopt : std::optional(bootstrap_mean(values));
}

std::optional<Interval> median_interval(const std::vector<double>& values) {
  if (values.size() < fewest_bootstrapped) return std::nullopt;
  return bootstrap_median(std::span(&values, 1));
}

std::span<const ErrorKind> error_kinds() {
  static constexpr std::array kinds = {
      ErrorKind{"forecast", [](const JudgedCase& one) { return std::optional(one.forecast); }},
      ErrorKind{"held-out", [](const JudgedCase& one) { return one.held_out; }},
      ErrorKind{"stale", [](const JudgedCase& one) { return one.stale; }},
      ErrorKind{"paired", [](const JudgedCase& one) { return one.paired; }},
      ErrorKind{"paired undisturbed",
                [](const JudgedCase& one) { return is_known_undisturbed(one) ? one.paired : std::nullopt; }},
      ErrorKind{"paired noise", [](const JudgedCase& one) { return one.paired_noise; }, /*has_ratio=*/false},
      ErrorKind{"closure", [](const JudgedCase& one) { return one.parameters.np == 1 ? one.paired : std::nullopt; }},
      ErrorKind{"closure apart", [](const JudgedCase& one) { return one.closure_apart; }},
      ErrorKind{"adjusted", [](const JudgedCase& one) { return one.adjusted; }},
      ErrorKind{"noise", [](const JudgedCase& one) { return one.noise; }, /*has_ratio=*/false},
      ErrorKind{"peak memory", [](const JudgedCase& one) { return one.memory; }},
      ErrorKind{"resident memory", [](const JudgedCase& one) { return one.resident; }},
      ErrorKind{"T / np", [](const JudgedCase& one) { return one.per_rank; }},
      ErrorKind{"DDLBench's equations", [](const JudgedCase& one) { return one.ddlbench; }},
  };
  return kinds;
}

std::vector<KindFigures> figures_by_kind(std::span<const JudgedCase> cases) {
  std::vector<KindFigures> all;
  for (const ErrorKind& kind : error_kinds()) {
    const std::vector<double> errors = errors_of(cases, kind.of);
    if (errors.empty()) continue;
    all.push_back({kind.name, kind.has_ratio, figures_of(errors), mean_interval(sizes_of(errors)),
                   kind.has_ratio ? median_interval(ratios_of(errors)) : std::nullopt});
  }
  return all;
}

}  // namespace parabench::results
