// Whether two results are times of the same work, so that their ratio means something.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "results/file.h"

namespace parabench::results {

/// What makes work different: a ratio of times then says nothing about what one wanted to compare, unless it is just
/// this that one wanted to compare.
enum class WorkAspect {
  machine,     ///< processors and cores of the hosts; of cases on GPUs, these too
  build,       ///< build type and compiler flags
  version,     ///< of the program
  parameters,  ///< keys of one id, whose defaults were others in another version
  workload,    ///< of two cases compared with each other: model, data set, batch
  plan,        ///< of one id: what each rank does, as partitions by time follow the calibration
  steps,       ///< timed steps of a launch
  warmup,      ///< steps before them
  reference,   ///< what the case trains: the same as sequential training, delayed or local updates
  arithmetic,  ///< what the kernels really computed in
  emulate,     ///< whose times emulated devices took, or that there are none
};
constexpr std::array<std::string_view, 11> names_of(WorkAspect) {
  return {"machine", "build",  "version",   "parameters", "workload", "plan",
          "steps",   "warmup", "reference", "arithmetic", "emulate"};
}

struct WorkDifference {
  WorkAspect aspect;
  std::string id;    ///< of the case of A; "" where it concerns the whole files
  std::string a, b;  ///< what there is, for people
};
/// Of the files as a whole. `on_gpus`: whether a case that is compared runs on GPUs.
std::vector<WorkDifference> work_differences(const ResultsFile& a, const ResultsFile& b, bool on_gpus);
/// Of two rows. Those of one id must agree in all; two cases that were chosen to be compared with each other differ in
/// their plans, and may in their parameters but for the workload. What a row does not tell (older files, an equivalence
/// that was not checked) is no difference.
std::vector<WorkDifference> work_differences(const Record& a, const Record& b);

/// What also differs between two files and may well be what one compares, or a cause to know: commit, libraries,
/// launcher, hosts' names, frequency governors, variables.
struct ContextDifference {
  std::string name, a, b;
};
std::vector<ContextDifference> context_differences(const ResultsFile& a, const ResultsFile& b);

}  // namespace parabench::results
