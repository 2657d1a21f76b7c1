#include "suite/advise/divisions.h"

#include "analytic/costs/sheet_hosts.h"
#include "base/error.h"

namespace parabench::suite {

std::vector<Subject> divisions_of(const Subject& whole, const Knowledge& knowledge) {
  std::vector<Subject> subjects = {whole};
  if (whole.spec.device != DeviceKind::cuda || knowledge.calibration) return subjects;
  const int on_host = analytic::ranks_per_host(knowledge.machine, whole.spec);
  Subject divided = whole;
  for (int ranks = 2; ranks <= (on_host > 0 ? on_host : whole.spec.np); ranks *= 2) {
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
