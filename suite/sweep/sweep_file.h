// The file of `parabench sweep`: which cases, run how, on which nodes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "suite/cases/selection.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

/// What Slurm is asked for. "" and nullopt: nothing, its own default.
struct SlurmOptions {
  std::string partition, account, qos;
  std::optional<double> time_s;       ///< of each case
  int at_once = 4;                    ///< cases of one script that run at the same time
  bool exclusive = true;              ///< nodes that no other job shares
  std::optional<int> cores_per_node;  ///< nullopt: as many as this machine has
  std::optional<int> gpus_per_node;
  std::optional<int> ranks_per_node;  ///< nullopt: one per GPU, or as many as have a core for each of their threads
  std::vector<std::string> options;   ///< further ones of sbatch: "--constraint=ib"
  std::vector<std::string> prologue;  ///< lines of shell before the first command: modules, variables
};

struct LeftOut {
  std::string id, reason;
};

struct Sweep {
  std::string name;    ///< of the campaign; a folder's name
  std::string system;  ///< of the machine; a folder's name, "" for the host's
  std::vector<SelectedCase> cases;
  std::vector<LeftOut> left_out;  ///< combinations of the grid, and members of sets, that are impossible
  RunOptions options;
  SlurmOptions slurm;
};

/// A file in TOML, or in JSON where it is named *.json:
///
///     name = "pipelines"
///     cases = ["resnet18/cifar10-synthetic/sequential/np:1/batch:64"]
///     sets = ["quick"]
///     where = "np<=4"                      # as --where, of grid and sets; what does not hold is not meant
///     exclude = ["strategy=gpipe,np=4"]    # each one: where all of its comparisons hold
///
///     [grid]                               # or several [[grid]]
///     model = ["resnet18", "resnet50"]     # every combination; model, dataset, strategy, np, batch, any key of ids
///     ...
///     [run]                                # options of `parabench run`: steps = 20, launcher = "srun", ...
///     [slurm]                              # see SlurmOptions: partition, account, qos, time, at-once, ...
///
/// Relative paths are those from the file's folder. Throws usage_error with the place, its value, what was expected and
/// the nearest known word; also for one of `cases` that is impossible.
Sweep read_sweep(const std::filesystem::path& path);

/// The same from its content; `folder`: of relative paths.
Sweep sweep_from_json(const JsonReader& document, const std::filesystem::path& folder);

}  // namespace parabench::suite
