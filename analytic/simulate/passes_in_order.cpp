#include "analytic/simulate/passes_in_order.h"

#include <map>
#include <tuple>
#include <utility>

#include "analytic/costs/times_of.h"
#include "analytic/simulate/simulate.h"
#include "base/statistics.h"
#include "parallelism/plan/dependencies.h"

namespace parabench::analytic {
namespace {

using PassKey = std::tuple<Rank, SegmentId, plan::OpKind>;

PassKey key_of(const PassSeconds& pass) { return {pass.rank, pass.segment, pass.kind}; }

class TimesInOrder final : public TimesOf {
 public:
  TimesInOrder(std::unique_ptr<const TimeModel> of_chain, std::map<PassKey, double> factors)
      : TimesOf(std::move(of_chain)), factors_(std::move(factors)) {}

  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return factor(rank, op) * base_.parts(plan, rank, op, busy_ranks);
  }
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return factor(rank, op) * base_.deviation_s(plan, rank, op, busy_ranks);
  }

 private:
  double factor(Rank rank, const plan::Op& op) const {
    const auto found = factors_.find({rank, op.segment, op.kind});
    return found == factors_.end() ? 1 : found->second;
  }

  std::map<PassKey, double> factors_;
};

}  // namespace

std::vector<PassSeconds> pass_seconds(const plan::Plan& plan, const plan::Timeline& timeline, StepId first) {
  std::map<PassKey, std::map<StepId, std::vector<double>>> of_steps;
  for (Rank rank(0); rank.value < std::ssize(plan.ranks); ++rank) {
    const std::vector<plan::Op>& ops = plan.ranks[rank.value].compute();
    const std::vector<plan::Span>& spans = timeline.ranks[rank.value][plan::compute_lane];
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (!plan::is_pass(ops[i].kind) || ops[i].step < first) continue;
      of_steps[{rank, ops[i].segment, ops[i].kind}][ops[i].step].push_back(spans[i].end - spans[i].start -
                                                                           spans[i].data_wait);
    }
  }
  std::vector<PassSeconds> passes;
  for (const auto& [key, steps] : of_steps) {
    std::vector<double> means;
    for (const auto& [step, seconds] : steps) means.push_back(mean(seconds));
    const auto& [rank, segment, kind] = key;
    passes.push_back({rank, segment, kind, median(means)});
  }
  return passes;
}

std::unique_ptr<const TimeModel> times_in_order(std::unique_ptr<const TimeModel> of_chain, const plan::Plan& plan,
                                                StepId first, const std::vector<PassSeconds>& measured) {
  std::map<PassKey, double> factors, expected;
  for (const PassSeconds& pass : pass_seconds(plan, simulate_silent(plan, *of_chain), first))
    expected[key_of(pass)] = pass.seconds;
  for (const PassSeconds& pass : measured) {
    const auto found = expected.find(key_of(pass));
    if (found != expected.end() && found->second > 0) factors[key_of(pass)] = pass.seconds / found->second;
  }
  return std::make_unique<TimesInOrder>(std::move(of_chain), std::move(factors));
}

}  // namespace parabench::analytic
