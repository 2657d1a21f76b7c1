// The cases of a run one after another.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/error.h"
#include "results/record.h"
#include "suite/launch/workplace.h"
#include "suite/run/journal.h"
#include "suite/run/prepare.h"

namespace parabench::suite {

/// The cases of a run, in the order in which they run, and their records; kept on disk as they come. What the
/// constructor is given outlives it.
class CaseSeries {
 public:
  CaseSeries(const RunOptions& options, const std::vector<Prepared>& cases, const Knowledge& knowledge,
             Workplace& workplace, Journal* journal);

  /// Takes over records that an earlier run finished, and says how many. Throws usage_error for those of other cases or
  /// other options.
  int take_over(const Unfinished& before);
  /// Runs those without a record, up to an interruption.
  void run();
  /// Cases that an interruption ended.
  std::size_t cut_short() const { return cut_short_; }
  /// The exit code for what has happened so far.
  ExitCode code();
  /// Those that there are, in the order of the cases.
  std::vector<results::Record> records() const;

 private:
  void run_one(std::size_t index, int place);
  void keep(std::size_t index, int place, results::Record record);
  void count_failure(protocol::FailureKind kind);

  const RunOptions& options_;
  const std::vector<Prepared>& cases_;
  const Knowledge& knowledge_;
  Workplace& workplace_;
  Journal* journal_;  ///< nullptr where no file was asked for
  std::vector<std::optional<results::Record>> records_;
  std::size_t cut_short_ = 0;
  bool failed_fast_ = false;
  bool failed_ = false, bad_input_ = false, lacking_ = false;
};

}  // namespace parabench::suite
