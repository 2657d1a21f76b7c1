// The command line of parabench-rank: what the front asks a launch to do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "suite/protocol/phase.h"

namespace CLI {
class App;
}

namespace parabench::protocol {

/// Steps of a measure launch, and discarded ones before them, where none are given; `plan`, `predict` and `list` assume
/// the same.
inline constexpr int default_steps = 20;
inline constexpr int default_warmup = 5;

/// Steps at most that a measure launch runs alone, between barriers, after its window.
inline constexpr int most_isolated_steps = 10;

struct RankCommand {
  Phase phase = Phase::probe;
  std::filesystem::path plan;   ///< plan file, or ExchangeWork of phase communicate; only a probe has none
  std::filesystem::path reply;  ///< folder of the reply, which all hosts share
  int steps = default_steps, warmup = default_warmup;
  std::filesystem::path data;  ///< folder of a data set from files; empty: none
  bool skip_corrupt = false;
  bool trace = false;
  bool one_process = false;  ///< the ranks of comm:nccl are threads of this process, as without MPI
  bool operator==(const RankCommand&) const = default;
};

/// The words after the program's name.
std::vector<std::string> arguments(const RankCommand& command);

/// Lets `app` read such words into `command`, which outlives it.
void add_options(CLI::App& app, RankCommand& command);

}  // namespace parabench::protocol
