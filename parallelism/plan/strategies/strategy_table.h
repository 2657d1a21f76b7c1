// The table of all strategies: what each one is, accepts and writes. Everything that lists, checks or explains
// strategies is derived from it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/error.h"
#include "parallelism/plan/schedules/makespan.h"
#include "parallelism/plan/schedules/schedule.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

enum class Family { sequential, data_parallel, model_parallel, pipeline, asynchronous_pipeline, given, peer };
constexpr std::array<std::string_view, 7> names_of(Family) {
  return {"sequential", "data parallel", "model parallel", "pipeline", "asynchronous pipeline", "given", "peer"};
}

/// What np means to a strategy; either: of one that stands for several.
enum class RankUse { one, replicas, workers, stages, either };
constexpr std::array<std::string_view, 5> names_of(RankUse) {
  return {"one", "replicas", "workers and servers", "stages", "either"};
}

/// With which models and data sets the catalogue lists a strategy.
enum class Listed {
  everywhere,   ///< with every model and data set
  comparisons,  ///< where schedules are compared on the same work: a few models on in-memory data
  nowhere,      ///< it needs something that a list cannot give
};

/// What stands in brackets behind a strategy's name.
struct StrategyParameter {
  std::string_view name;
  std::string_view usual;     ///< what its absence means
  std::string_view expected;  ///< what it accepts
  std::string_view help;
  /// One text for all that mean the same value; throws Error for what is none. Null: every text is a value of its own.
  std::string (*one_text)(std::string_view text) = nullptr;
};

struct Strategy {
  std::string_view name;
  Family family = Family::pipeline;
  std::string_view summary;  ///< one line: what is special about it
  std::string_view paper;    ///< where it comes from; "" for common knowledge
  Listed listed = Listed::comparisons;

  RankUse ranks = RankUse::stages;
  std::vector<std::string_view> keys = {};  ///< that it reads, of those that only some strategies read
  std::vector<StrategyParameter> parameters = {};
  int fixed_chunks = 1;                                        ///< stages per device, for those without the key chunks
  std::string_view accepts = {};                               ///< the pipes that it serves, for people; "" for all
  std::optional<Error> (*refuse)(const Pipe& pipe) = nullptr;  ///< the rule behind it: why it does not serve one

  Schedule schedule = {};                               ///< of a synchronous pipeline, else empty
  Plan (*write)(const StrategyInput& input) = nullptr;  ///< of all others
  /// Its rules of weight versions for a case and the ranks of each stage (delay_rules.h); none, of no stage, where
  /// steps read what the step before wrote.
  std::vector<VersionRule> (*delay)(const Case& spec, std::span<const int> widths) = nullptr;
  bool from_file = false;              ///< stands for a schedule that the user brings
  std::string_view uncapturable = {};  ///< why a CUDA graph cannot hold its step: "whose steps ..."; "" where one can
  Makespan makespan = {};              ///< of the literature, where there is one

  bool uses(std::string_view key) const;
  const StrategyParameter* find_parameter(std::string_view parameter) const;  ///< nullptr: it has no such parameter
  int chunks(const Case& spec) const { return uses("chunks") ? spec.chunks : fixed_chunks; }
  int stages(const Case& spec) const;  ///< of one copy of the model; where these are planned, at least
  int pieces(const Case& spec) const;  ///< parts that travel separately, over all replicas
  Pipe pipe(const Case& spec) const;   ///< of one copy; defaults of the strategy's own resolved
  bool splits_backwards() const;       ///< into input and weight gradients; of one from a file: not known, false
};

/// The least number of micro-batches from `least` on that the strategy serves for this case; `least` where it serves
/// none below 4 np + `least`.
int served_micro_batches(const Strategy& strategy, Case spec, int least);

std::span<const Strategy> strategies();
/// Throws usage_error with the nearest name.
const Strategy& find_strategy(std::string_view name);

}  // namespace parabench::plan
