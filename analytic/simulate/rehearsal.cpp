#include "analytic/simulate/rehearsal.h"

#include <map>
#include <tuple>
#include <utility>

#include "analytic/costs/ablation.h"
#include "analytic/costs/times_of.h"
#include "analytic/simulate/simulate.h"
#include "parallelism/plan/dependencies.h"

namespace parabench::analytic {
namespace {

/// Tells the operations of the compute lanes apart.
using OpKey = std::tuple<Rank, plan::OpKind, SegmentId, MicroBatchId, StepId, int, Rank, GroupId>;

OpKey key_of(Rank rank, const plan::Op& op) {
  return {rank, op.kind, op.segment, op.micro_batch, op.step, op.port, op.peer, op.group};
}

class TimesRehearsed final : public TimesOf {
 public:
  TimesRehearsed(std::unique_ptr<const TimeModel> of_chain, const plan::Plan& plan, const ComputeSeconds& measured)
      : TimesOf(std::move(of_chain)) {
    const ComputeSeconds expected = compute_seconds(simulate_free_exchanges(plan, base_));
    for (Rank rank; rank.value < std::ssize(plan.ranks); ++rank) {
      const std::vector<plan::Op>& ops = plan.ranks[rank.value].compute();
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const double by_model = expected[rank.value][i];
        if (by_model > 0) factors_[key_of(rank, ops[i])] = measured[rank.value][i] / by_model;
      }
    }
  }

  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return factor(rank, op) * base_.parts(plan, rank, op, busy_ranks);
  }
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return factors_.contains(key_of(rank, op)) ? 0 : base_.deviation_s(plan, rank, op, busy_ranks);
  }

 private:
  double factor(Rank rank, const plan::Op& op) const {
    const auto found = factors_.find(key_of(rank, op));
    return found == factors_.end() ? 1 : found->second;
  }

  std::map<OpKey, double> factors_;
};

}  // namespace

plan::Timeline simulate_free_exchanges(const plan::Plan& plan, const TimeModel& time) {
  const auto no_messages = without(AblatedTerm::messages, time);
  return simulate(plan, *without(AblatedTerm::collectives, *no_messages));
}

ComputeSeconds compute_seconds(const plan::Timeline& timeline) {
  ComputeSeconds seconds;
  for (const auto& lanes : timeline.ranks) {
    std::vector<double>& of_rank = seconds.emplace_back();
    for (const plan::Span& span : lanes[plan::compute_lane]) of_rank.push_back(span.work());
  }
  return seconds;
}

std::unique_ptr<const TimeModel> times_rehearsed(std::unique_ptr<const TimeModel> of_chain, const plan::Plan& plan,
                                                 const ComputeSeconds& measured) {
  return std::make_unique<TimesRehearsed>(std::move(of_chain), plan, measured);
}

}  // namespace parabench::analytic
