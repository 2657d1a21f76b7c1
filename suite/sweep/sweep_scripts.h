// The scripts of a sweep as text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "suite/sweep/nodes.h"
#include "suite/sweep/sweep_file.h"
#include "suite/sweep/sweep_layout.h"

namespace parabench::suite {

/// Cases that one script runs.
struct ScriptCases {
  std::string stem;  ///< "nodes-2": nodes-2.sbatch reads nodes-2.cases
  NodeRequest request;
  std::vector<IndexEntry> cases;
};

/// One for each number of nodes, with GPUs and without; more where an array would have over 1,000 tasks, which is what
/// Slurm allows unless it is told otherwise. Within one, the largest request of its cases.
std::vector<ScriptCases> by_nodes(const Sweep& sweep, int cores);

/// What both kinds of script need.
struct ScriptContext {
  const Sweep& sweep;
  std::filesystem::path program;  ///< parabench
  std::filesystem::path folder;   ///< of campaign and system; absolute
};

/// A job array: task i runs line i of the list of cases, from 0.
std::string slurm_script(const ScriptContext& context, const ScriptCases& script);
/// All cases one after the other on this machine, by any POSIX shell.
std::string local_script(const ScriptContext& context, const ScriptCases& script);

}  // namespace parabench::suite
