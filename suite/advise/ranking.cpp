#include "suite/advise/ranking.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analytic/closed_forms/case_form.h"
#include "analytic/memory/sizes.h"
#include "base/case_id.h"
#include "parallelism/plan/strategies/strategies.h"
#include "suite/advise/candidates.h"

namespace parabench::suite {
namespace {

/// Closed forms of cases, whose layers are priced once for each division of them, number of ranks and size of pieces,
/// and their sums once for each group of ranks.
class Forms {
 public:
  Forms(const std::vector<Subject>& divisions, const Knowledge& knowledge, std::string cost_source)
      : knowledge_(knowledge), cost_source_(std::move(cost_source)) {
    for (const Subject& division : divisions)
      parts_.emplace(division.tensor, Part{division, analytic::Sizes(division.model), {}, {}});
  }

  analytic::CaseForm of(const Case& whole) {
    Part& part = parts_.at(whole.tp);
    Case& spec = part.subject.spec;
    spec = whole;
    spec.np /= whole.tp;
    spec.tp = 1;
    const Placement placement = placement_of(knowledge_, spec);
    const int samples = plan::largest_piece(spec);
    const auto [found, is_new] = part.layers.try_emplace({spec.np, samples});
    if (is_new) found->second = analytic::layer_forms(spec, part.sizes, costs_of(part), samples, placement);
    const auto [sums, are_new] = part.sums.try_emplace({spec.np, analytic::summing_ranks(spec)});
    if (are_new) sums->second = analytic::sums_of(spec, part.sizes, costs_of(part), placement);
    return analytic::case_form(spec, found->second, sums->second);
  }

 private:
  struct Part {
    Subject subject;
    analytic::Sizes sizes;
    std::map<std::pair<int, int>, analytic::LayerForms> layers;
    std::map<std::pair<int, std::vector<Rank>>, plan::SumTimes> sums;  ///< by ranks of the case and those that sum
  };
  analytic::Costs costs_of(const Part& part) const { return make_costs(part.subject, knowledge_, cost_source_); }

  const Knowledge& knowledge_;
  std::string cost_source_;
  std::map<int, Part> parts_;  ///< by the ranks that divide layers
};

}  // namespace

std::vector<Candidate> ranked(const std::vector<Subject>& divisions, const std::vector<Case>& cases,
                              const Knowledge& knowledge, const std::optional<Bytes>& memory) {
  const bool by_units = is_emulated(divisions.front().spec) && knowledge.emulated.unit_s;
  const std::string source = by_units ? "unit" : knowledge.calibration ? "calibrated" : "data-sheet";
  Forms forms(divisions, knowledge, source);
  std::vector<Candidate> candidates;
  for (const Case& spec : cases) {
    const analytic::CaseForm form = forms.of(spec);
    candidates.push_back({.chosen = {.spec = spec, .id = to_id(spec)},
                          .form = form,
                          .step_time_s = form.step_time_s,
                          .peak_bytes = static_cast<std::int64_t>(form.peak_bytes),
                          .cost_source = source,
                          .is_sequential = trains_as_sequential(spec)});
  }
  std::ranges::stable_sort(candidates, {}, [&](const Candidate& one) {
    const bool exceeds = memory && one.form.peak_bytes > static_cast<double>(memory->value);
    return std::pair(exceeds, exceeds ? one.form.peak_bytes : one.form.step_time_s);
  });
  return candidates;
}

}  // namespace parabench::suite
