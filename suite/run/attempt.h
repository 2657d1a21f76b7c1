// One try at the launches of a case, and the record that they make.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/record.h"
#include "suite/launch/workplace.h"
#include "suite/run/run_plan.h"

namespace parabench::suite {

struct CaseResult {
  results::Record record;
  /// Of a failed record: whether it means bad input or a lacking environment rather than a failed case.
  protocol::FailureKind failure = protocol::FailureKind::failure;
  bool interrupted = false;  ///< the record was cut short; it keeps the launches that were measured, and never counts
};

/// The launches that are planned for a case (run_plan.h) and further ones until the stopping rule is content; one that
/// fails ends the attempt. What the constructor is given outlives it. `index`: 1-based place among the cases, for the
/// progress line. Precondition: `prepared` runs.
class Attempt {
 public:
  Attempt(const Prepared& prepared, const RunOptions& options, const Knowledge& knowledge, int index,
          Workplace& workplace);

  /// Goes on with launches that an earlier run measured, each as launch_record() left it, in their order; before the
  /// first turn. Launches of another plan are left out, with a note.
  void go_on_with(std::span<const results::Record> launches);

  bool is_done() const { return next_ == planned_.size() || !is_sound(); }
  // Precondition of the next three: it is not done.
  /// Seconds that the next turn should take, as far as its launches were planned from the start.
  double next_turn_seconds() const;
  /// Does launches up to one that measures, or the last.
  void take_turn();
  /// Leaves undone what is left.
  void cut_short();

  /// Launches that are measured so far.
  int measured() const { return static_cast<int>(launches_.size()); }
  /// The record as if the last of these were the only one. Precondition: there is one.
  results::Record launch_record() const;
  const CaseResult& result() const { return result_; }

 private:
  void launch(const PlannedLaunch& planned);
  std::optional<protocol::Reply> run_phase(protocol::Phase phase, LaunchRequest request, const std::string& what);
  void verify();
  void hand_over();
  void measure(const PlannedLaunch& launch);
  void pair();
  void trace_prediction(const std::filesystem::path& trace, const std::string& trouble);
  void take(results::Measured measured);
  results::Measured combined(std::span<const results::Measured> launches) const;
  void combine_launches();
  void judge(std::span<const double> losses);
  void plan_further();
  void finish();
  void fail(std::string reason, protocol::FailureKind kind);
  plan::Window window() const { return plan::window(prepared_.forecast->plan, options_.warmup, options_.steps); }
  bool is_sound() const { return result_.record.status == results::Status::ok; }

  const Prepared& prepared_;
  const RunOptions& options_;
  const Knowledge& knowledge_;
  const bool is_peer_;
  int index_;
  Workplace& workplace_;
  std::filesystem::path work_;  ///< what a product is handed over
  std::vector<PlannedLaunch> planned_;
  std::size_t next_ = 0;  ///< of planned_
  std::optional<results::StopReason> stopped_by_;
  CaseResult result_;
  std::vector<results::Measured> launches_;
};

/// The record of a case of which nothing has run yet; of one that does not run, the whole record.
results::Record start_record(const Prepared& prepared, const RunOptions& options);

}  // namespace parabench::suite
