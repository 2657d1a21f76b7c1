#include "analytic/costs/ablation.h"

#include <string>
#include <utility>

namespace parabench::analytic {
namespace {

class AblatedTimes final : public TimeModel {
 public:
  AblatedTimes(AblatedTerm term, std::unique_ptr<const TimeModel> base) : term_(term), base_(std::move(base)) {}

  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    TimeParts parts = base_->parts(plan, rank, op, term_ == AblatedTerm::sharing ? 1 : busy_ranks);
    const bool is_message = plan::is_message(op.kind), is_collective = plan::is_collective(op.kind);
    const bool computes = !is_message && !is_collective, is_pass = plan::is_pass(op.kind);
    switch (term_) {
      case AblatedTerm::sharing:
      case AblatedTerm::jitter: break;
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
    return term_ == AblatedTerm::jitter ? 0 : base_->deviation_s(plan, rank, op, busy_ranks);
  }
  BesideComputing beside_computing(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return base_->beside_computing(plan, rank, op);
  }
  double load_s_per_sample(const plan::Plan& plan, int loading_ranks) const override {
    return base_->load_s_per_sample(plan, loading_ranks);
  }
  Link link(const plan::Plan& plan) const override { return base_->link(plan); }
  std::string assumption(const plan::Plan& plan) const override { return base_->assumption(plan); }
  std::string link_assumption(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return base_->link_assumption(plan, rank, op);
  }
  int cores() const override { return term_ == AblatedTerm::sharing ? 0 : base_->cores(); }
  bool shares_links() const override { return base_->shares_links(); }
  std::string source() const override { return base_->source(); }
  std::string link_source() const override { return base_->link_source(); }

 private:
  AblatedTerm term_;
  std::unique_ptr<const TimeModel> base_;
};

}  // namespace

std::unique_ptr<const TimeModel> without(AblatedTerm term, std::unique_ptr<const TimeModel> base) {
  return std::make_unique<AblatedTimes>(term, std::move(base));
}

}  // namespace parabench::analytic
