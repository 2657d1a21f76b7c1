#include "suite/advise/divisions.h"

#include "analytic/costs/sheet_hosts.h"
#include "base/error.h"

namespace parabench::suite {
namespace {

/// Ranks that may divide a layer: the GPUs of a host; 1 where nobody knows them, where ranks share them, and where
/// ranks were divided among hosts otherwise (--hosts).
int most_tensor_ranks(const analytic::MachineInfo& machine, const Case& spec, int hosts) {
  if (machine.gpus.empty() || hosts > 1) return 1;
  const int gpus = machine.gpus.front().count;
  const bool has_network = analytic::ranks_per_host(machine, spec) > 0;
  return has_network || spec.np <= gpus ? gpus : 1;
}

}  // namespace

std::vector<Subject> divisions_of(const Subject& whole, const Knowledge& knowledge) {
  std::vector<Subject> subjects = {whole};
  if (whole.spec.device != DeviceKind::cuda || knowledge.calibration) return subjects;
  const int gpus = most_tensor_ranks(knowledge.machine, whole.spec, knowledge.hosts);
  Subject divided = whole;
  for (int ranks = 2; gpus % ranks == 0; ranks *= 2) {
    divided.spec.tp = ranks;
    try {
      subjects.push_back(tensor_subject(divided));
    } catch (const Error& error) {
      // What a number of ranks does not divide, its double does not divide either.
      if (error.code() != ExitCode::usage) throw;
      break;
    }
  }
  return subjects;
}

Candidates candidates_of(const std::vector<Subject>& divisions) {
  Candidates all;
  for (const Subject& division : divisions) {
    Candidates some = candidate_cases(division.spec, division.model);
    for (Case& spec : some.cases) {
      spec.np *= division.tensor;
      spec.tp = division.tensor;
    }
    all.cases.insert(all.cases.end(), some.cases.begin(), some.cases.end());
    all.impossible += some.impossible;
    if (!all.refusal) all.refusal = some.refusal;
  }
  return all;
}

}  // namespace parabench::suite
