#include "suite/run/case_run.h"

#include <fmt/format.h>

#include <utility>

#include "parallelism/plan/strategies/peer.h"
#include "results/summary.h"

namespace parabench::suite {
namespace {

/// Whether the next attempt may end otherwise: not where the case trained something else, or what it was given is
/// wrong.
bool may_pass_later(const CaseResult& result) {
  if (result.interrupted || result.record.status != results::Status::failed) return false;
  if (results::differs(result.record.equivalence)) return false;
  return result.failure == protocol::FailureKind::failure || result.failure == protocol::FailureKind::peer;
}

}  // namespace

CaseRun::CaseRun(const Prepared& prepared, const RunOptions& options, const Knowledge& knowledge, int index,
                 Workplace& workplace, const std::vector<results::Record>& measured)
    : prepared_(prepared),
      options_(options),
      knowledge_(knowledge),
      index_(index),
      workplace_(workplace),
      attempt_(next_attempt()) {
  if (measured.empty()) return;
  earlier_failures_ = measured.back().earlier_failures;
  attempt_->go_on_with(measured);
}

std::unique_ptr<Attempt> CaseRun::next_attempt() const {
  return std::make_unique<Attempt>(prepared_, options_, knowledge_, index_, workplace_);
}

results::Record CaseRun::with_failures(results::Record record) const {
  record.earlier_failures = earlier_failures_;
  return record;
}

CaseResult CaseRun::result() const {
  CaseResult result = attempt_->result();
  result.record = with_failures(std::move(result.record));
  return result;
}

bool CaseRun::take_turn() {
  attempt_->take_turn();
  const CaseResult& so_far = attempt_->result();
  if (so_far.record.status == results::Status::ok) return true;
  if (static_cast<int>(earlier_failures_.size()) >= options_.retries || !may_pass_later(so_far) ||
      workplace_.signals.interrupted()) {
    return false;
  }
  const std::string reason = so_far.record.reason;
  earlier_failures_.push_back(reason);
  workplace_.progress.phase(index_, so_far.record.id,
                            fmt::format("is tried again ({} of {}): {};", earlier_failures_.size(), options_.retries,
                                        reason.substr(0, reason.find('\n'))));
  attempt_ = next_attempt();
  return false;
}

double expected_seconds(const Prepared& prepared, const RunOptions& options) {
  if (!prepared.runs() || plan::is_peer(prepared.chosen.spec)) return 0;
  const plan::Window window = plan::window(prepared.forecast->plan, options.warmup, options.steps);
  double seconds = 0;
  for (const PlannedLaunch& launch : launches_of(prepared.chosen.spec, options))
    seconds += expected_seconds(launch.phase, *prepared.forecast, window.steps());
  return seconds;
}

}  // namespace parabench::suite
