#include "parallelism/plan/excerpt.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/formats/actions.h"

namespace parabench::plan {
namespace {

int typical_step(const Plan& plan, const Timeline& timeline, int first) {
  const std::vector<double> durations = step_durations(plan, timeline);
  std::vector<int> steps(durations.size() - first);
  std::iota(steps.begin(), steps.end(), first);
  const auto middle = steps.begin() + (std::ssize(steps) - 1) / 2;
  std::ranges::nth_element(steps, middle, {}, [&](int step) { return std::pair(durations[step], step); });
  return *middle;
}

}  // namespace

std::optional<StepTimeline> excerpt(const Plan& plan, const Timeline& timeline, StepId first_step) {
  const int ranks = static_cast<int>(plan.ranks.size());
  StepTimeline result;
  result.first_step = typical_step(plan, timeline, first_step.value);
  if (const int every = plan.averaging.every; every > 0)  // the step that shows what the others leave out
    result.first_step = (result.first_step / every + 1) * every - 1;
  if (plan.asynchronous) result.first_step = std::max(0, std::min(result.first_step, plan.steps - ranks));
  result.last_step = plan.asynchronous ? std::min(result.first_step + ranks, plan.steps) - 1 : result.first_step;
  int count = 0;
  double begin = std::numeric_limits<double>::infinity();
  for (int r = 0; r < ranks; ++r) {
    const auto& spans = timeline.ranks[r][compute_lane];
    auto& timed = result.ranks.emplace_back();
    for (const Action& action : actions(plan, Rank(r))) {
      const int step = action.op.step.value;
      if (step < result.first_step || step > result.last_step) continue;
      if (++count > most_excerpt_actions) return std::nullopt;
      timed.push_back({to_text(plan, Rank(r), action), spans[action.first].start, spans[action.last].end});
      begin = std::min(begin, timed.back().begin_s);
    }
    std::ranges::stable_sort(timed, {}, &TimedAction::begin_s);
  }
  for (auto& rank : result.ranks) {
    for (TimedAction& action : rank) {
      action.begin_s -= begin;
      action.end_s -= begin;
    }
  }
  return result;
}

}  // namespace parabench::plan
