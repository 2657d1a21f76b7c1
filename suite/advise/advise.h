// Which way of training a model on so many ranks is the fastest that fits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analytic/closed_forms/case_form.h"
#include "suite/run/outlook.h"

namespace parabench::suite {

struct Question {
  Case spec;                    ///< model, data set, np, batch, and the keys of all candidates (is_chosen_key aside)
  std::optional<Bytes> memory;  ///< that a rank may use; nullopt: what the largest GPU has, else any amount
  int hosts = 0;                ///< of --hosts, as the knowledge has them, to be told; 0: not given
};

struct Candidate {
  SelectedCase chosen;
  analytic::CaseForm form;  ///< what it was ranked by
  double step_time_s = 0;   ///< simulated, or the closed form's, corrected by a simulated case that differs in zero
  std::int64_t peak_bytes = 0;
  bool is_simulated = true;
  std::string cost_source;    ///< of both
  std::string calibrated_on;  ///< calibrated_on() what was simulated; "" of a closed form
  bool is_sequential = true;  ///< trains_as_sequential()
  bool is_on_front = false;   ///< no other one trains as well, is as fast and as small
  /// No rank computes a part of a layer yet.
  bool has_executor() const { return chosen.spec.tp == 1; }
};

struct Advice {
  std::vector<Candidate> fitting;  ///< the best of them, within the limit, the fastest first
  std::optional<Bytes> memory;     ///< the limit
  int possible = 0;                ///< candidates_of()
  int impossible = 0;
  int simulated = 0;
  /// Ids of those that were to be simulated, and of which the calibration lacks something.
  std::vector<std::string> left_out;
  /// What the calibration lacks, so that the data sheet predicts all candidates, and what to type; "" where it predicts
  /// those that are not left out.
  std::string gap;
};

/// Ranks candidates_of() the question by case_form(), and simulates the best 1024 / np, at least 24 and at most 256,
/// the best of every strategy, also of those that have an executor, and with a limit the eight smallest, on up to four
/// threads at a time (quick_outlook; what is too large for that has its closed form alone, corrected by as much as that
/// of the same case with whole states is off, where this one is simulated); those that differ in zero alone count as
/// one, and with a limit those come first whose closed form keeps it. All by one source of costs, so that they can be
/// compared: the calibration, where it has layers, messages and what at least one candidate needs, the others then
/// being left out, else the data sheet. Each simulation takes some ten MB, of the largest cases a gigabyte. Throws
/// usage_error where the question is malformed, where no strategy can train it, with Candidates::refusal, and where
/// none of them keeps the limit, with the smallest.
Advice advise(const Question& question, const Knowledge& knowledge);

/// What to type for a candidate that is left out.
std::string how_to_calibrate();

/// The fastest that train as sequential training does, of those that have an executor.
std::vector<SelectedCase> best_to_run(const Advice& advice, int count);

}  // namespace parabench::suite
