// What follows from records: which rows count, their errors, and means over them. Everything that shows, averages or
// compares results asks here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/record.h"

namespace parabench::results {

/// The one rule for whether a row enters means, baselines, speed-ups, verdicts and figures: it was measured to its end
/// (status ok), and trains what its reference trains. A row whose equivalence was not checked (--verify off, emulated
/// devices, a reference that no rank can hold) counts too, but is shown as such and averaged apart: see is_checked().
bool counts(const Record& record);
/// Whether the equivalence check decided: passed or failed.
bool is_checked(const Record& record);
/// Whether the case trains something else than its reference: other updates, or other losses.
bool differs(const Equivalence& equivalence);

/// Counted bytes of the rank that needs most; 0 where none counts (emulated devices).
std::int64_t peak_bytes(const Measured& measured);
std::int64_t peak_bytes(const Predicted& predicted);

/// The error of a prediction against the measured median. Precondition: both name the same ranks in the same order.
PredictionError compare(const Predicted& predicted, const Measured& measured);

/// (predicted - measured) / measured of the median step time and of peak_bytes(); NaN where there is nothing to divide
/// by. nullopt unless the record was both predicted and measured.
struct CaseError {
  double step_time, peak_memory;
};
std::optional<CaseError> case_error(const Record& record);

/// Mean absolute errors over the rows of one kind that count.
struct MeanError {
  bool emulated = false, checked = false;
  int cases = 0;
  double step_time = 0;
  std::optional<double> peak_memory;  ///< over those whose memory was counted
};
/// One for each kind that has rows, checked before unchecked before emulated ones.
std::vector<MeanError> mean_errors(std::span<const Record> records);

}  // namespace parabench::results
