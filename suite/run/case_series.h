// The cases of a run one after another, or by turns.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "results/record.h"
#include "suite/launch/workplace.h"
#include "suite/run/case_run.h"
#include "suite/run/journal.h"

namespace parabench::suite {

/// The cases of a run, in the order in which they run, and their records; kept on disk as they come, launches of cases
/// that are not finished, too. With --interleave a round is a launch of each case, the first with its check, and rounds
/// go on until none wants another; else a case runs to its end before the next. What the constructor is given outlives
/// it.
class CaseSeries {
 public:
  CaseSeries(const RunOptions& options, const std::vector<Prepared>& cases, const Knowledge& knowledge,
             Workplace& workplace, Journal* journal);

  /// Takes over records that an earlier run finished, and says how many, and launches that it measured of others.
  /// Throws usage_error for those of other cases or other options.
  int take_over(const Unfinished& before);
  /// Runs those without a record, up to an interruption: the case that runs is finished first, unless a second one
  /// ends it; with --interleave those that have begun are cut short after the launch.
  void run();
  /// Cases that were ended before all their launches were measured, by an interruption or by another's failure.
  std::size_t cut_short() const { return cut_short_; }
  /// The exit code for what has happened so far.
  ExitCode code();
  /// Those that there are, in the order of the cases.
  std::vector<results::Record> records() const;

 private:
  std::size_t index_of(const results::Record& record, const Unfinished& before) const;
  double expected_seconds() const;
  void take_turn(std::size_t index, int place);
  void skip(std::size_t index, int place);
  void cut_short(std::size_t index, int place);
  void finish(std::size_t index, int place);
  void keep(std::size_t index, int place, results::Record record);
  void count_failure(protocol::FailureKind kind);

  const RunOptions& options_;
  const std::vector<Prepared>& cases_;
  const Knowledge& knowledge_;
  Workplace& workplace_;
  Journal* journal_;  ///< nullptr where no file was asked for
  std::vector<std::optional<results::Record>> records_;
  std::vector<std::vector<results::Record>> measured_;  ///< launches of an earlier run, of cases that it did not finish
  std::vector<std::unique_ptr<CaseRun>> runs_;          ///< of cases that have begun and have no record
  std::size_t cut_short_ = 0;
  bool failed_fast_ = false;
  bool failed_ = false, bad_input_ = false, lacking_ = false;
};

}  // namespace parabench::suite
