#include "analytic/costs/ablation.h"

#include <limits>

#include "analytic/costs/contention.h"
#include "analytic/costs/times_of.h"

namespace parabench::analytic {
namespace {

class AblatedTimes final : public TimesOf {
 public:
  AblatedTimes(AblatedTerm term, const TimeModel& base) : TimesOf(base), term_(term) {}

  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    TimeParts parts = base_.parts(plan, rank, op, term_ == AblatedTerm::sharing ? 1 : busy_ranks);
    const bool is_message = plan::is_message(op.kind), is_collective = plan::is_collective(op.kind);
    const bool computes = !is_message && !is_collective, is_pass = plan::is_pass(op.kind);
    switch (term_) {
      case AblatedTerm::sharing:
      case AblatedTerm::jitter:
      case AblatedTerm::beside:
      case AblatedTerm::loading: break;
      case AblatedTerm::memory:
        if (is_pass && busy_ranks > 1 && plan.spec.device == DeviceKind::cpu)
          return with_total(parts, by_cores_s(plan, rank, op, busy_ranks, parts.total()));
        break;
      case AblatedTerm::messages: return is_message ? TimeParts{} : parts;
      case AblatedTerm::collectives: return is_collective ? TimeParts{} : parts;
      case AblatedTerm::latency:
        if (!computes) parts.latency = 0;
        break;
      case AblatedTerm::updates: return computes && !is_pass ? TimeParts{} : parts;
      case AblatedTerm::gradients:
        if (is_pass) parts.memory = 0;
        break;
      case AblatedTerm::overhead:
        if (computes) parts.launch = 0;
        break;
    }
    return parts;
  }
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return term_ == AblatedTerm::jitter ? 0 : base_.deviation_s(plan, rank, op, busy_ranks);
  }
  BesideComputing beside_computing(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return term_ == AblatedTerm::beside ? BesideComputing{} : base_.beside_computing(plan, rank, op);
  }
  double load_s_per_sample(const plan::Plan& plan, int loading_ranks) const override {
    return term_ == AblatedTerm::loading ? 0 : base_.load_s_per_sample(plan, loading_ranks);
  }
  // More than anybody wants: of 0 ranks would not jitter either, nor hosts share their links.
  int cores() const override { return has_enough() ? std::numeric_limits<int>::max() : base_.cores(); }
  int cores_of_rank(const Case& spec) const override {
    return has_enough() ? std::numeric_limits<int>::max() : base_.cores_of_rank(spec);
  }

 private:
  double by_cores_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy, double crowded_s) const {
    return contended(base_.seconds(plan, rank, op, 1), crowded_s, crowd_of(plan, base_.cores()), busy).by_cores_s;
  }

  bool has_enough() const { return term_ == AblatedTerm::sharing && base_.cores() > 0; }

  AblatedTerm term_;
};

}  // namespace

std::unique_ptr<const TimeModel> without(AblatedTerm term, const TimeModel& base) {
  return std::make_unique<AblatedTimes>(term, base);
}

}  // namespace parabench::analytic
