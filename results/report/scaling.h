// Speed-up and efficiency over the number of ranks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_text.h"
#include "results/record.h"

namespace parabench::results {

/// What a case is compared with, always sequential training on one rank:
///   one_rank        of the same batch and as many threads as each rank has (strong scaling)
///   batch_per_rank  of batch / np samples and as many threads as each rank has (weak scaling)
///   same_cores      of the same batch on as many cores: the baseline of records (baseline.h)
enum class ScalingKind { one_rank, batch_per_rank, same_cores };
constexpr std::array<std::string_view, 3> names_of(ScalingKind) { return {"one-rank", "batch-per-rank", "same-cores"}; }

struct Scaling {
  ScalingKind kind = ScalingKind::one_rank;
  std::string reference;  ///< its id
  double speedup = 0;     ///< samples per second / samples per second of the reference
  double efficiency = 0;  ///< speedup / (cores / cores of the reference)
  /// That holds 95 % of both, over launches (bootstrap_median_ratio of launch_medians); none where either record has
  /// fewer than fewest_launches.
  std::optional<std::pair<double, double>> speedup_interval, efficiency_interval;
  std::optional<double> predicted_speedup, predicted_efficiency;  ///< the same of both predictions
};

/// Of one record among `references`, which hold what it may be compared with, the first that fits being taken. Empty
/// for a record that does not count, and for a reference itself.
std::vector<Scaling> scalings(const Record& record, std::span<const Record* const> references);

/// Why there are none, for people: "the nearest sequential case in the same file differs in optimizer, threads". ""
/// where there are some, for a record that does not count, and for a reference itself.
std::string why_no_scaling(const Record& record, std::span<const Record* const> references);

}  // namespace parabench::results
