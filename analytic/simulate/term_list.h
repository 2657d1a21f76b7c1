// A prediction's terms as they are written down.
#pragma once

#include <string>
#include <vector>

#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "base/prediction.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// What terms are told of, and those told so far. `counted`: the plan with all members of its groups, as in terms_of().
/// Both plans, sizes and time outlive it.
struct TermList {
  TermList(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const plan::Plan& counted);

  void add(std::string name, double value, std::string unit, std::string formula, std::string origin);
  /// Of what moves over links, which may be another model's than the passes, such as `op` of `rank`.
  void add_transfer(std::string name, double seconds, std::string formula, std::string origin, Rank rank,
                    const plan::Op& op);
  /// An origin, and what the model of times assumes where nobody measured.
  std::string with_assumption(std::string origin) const;

  const plan::Plan& plan;
  const Sizes& sizes;
  const TimeModel& time;
  const plan::Plan& counted;
  std::vector<std::vector<Rank>> holders;  ///< by stage
  std::string source;                      ///< of the times
  std::vector<Term> terms;
};

}  // namespace parabench::analytic
