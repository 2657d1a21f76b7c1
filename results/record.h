// One row of a results file, as data. SI units in names; a missing value is nullopt and becomes null.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/arithmetic.h"
#include "base/canary.h"
#include "base/case.h"
#include "base/enum_text.h"
#include "base/measures.h"
#include "base/prediction.h"

namespace parabench::results {

enum class Status { ok, skipped, failed };
enum class EquivalenceStatus { pass, fail, not_checked };
/// What the reference of the equivalence check trains on: each batch as one piece, or the pieces that the case cuts it
/// into, since batch norm normalises over one piece.
enum class ReferenceBatch { whole, pieces };
/// Why no more launches of a case were measured: as many as asked for, an interval as narrow as asked for, the limit of
/// launches on the way to it, a failure, or whoever interrupted the run.
enum class StopReason { repetitions, interval, limit, failure, interruption };
constexpr std::array<std::string_view, 3> names_of(Status) { return {"ok", "skipped", "failed"}; }
constexpr std::array<std::string_view, 3> names_of(EquivalenceStatus) { return {"pass", "fail", "not_checked"}; }
constexpr std::array<std::string_view, 5> names_of(StopReason) {
  return {"repetitions", "interval", "limit", "failure", "interruption"};
}
constexpr std::array<std::string_view, 2> names_of(ReferenceBatch) { return {"whole", "pieces"}; }

/// How far a loss may be from the reference's, relative to it: the rounding of the precision, over three steps.
double loss_tolerance(Precision precision);

struct Equivalence {
  EquivalenceStatus status = EquivalenceStatus::not_checked;
  std::string reason;  ///< why not checked, or what differed; "" otherwise
  /// Or "delayed-update", "local-update", "compressed", "backup-workers", "peer".
  std::string reference = "sequential";
  std::optional<ReferenceBatch> reference_batch;  ///< nullopt: nothing was checked, or a file of schema 1.5 or before
  int steps = 0;
  std::optional<int> every;  ///< steps between averages that the check trained; nullopt: none, or schema 1.12 or before
  std::optional<double> max_relative_update_difference;
  double tolerance = 1e-9;
  int tensors_left_out = 0;  ///< that differ by more, but by no more than rounding alone makes of them
  std::string worst_parameter;
  std::optional<double> max_relative_buffer_difference;  ///< batch-norm statistics against the reference's replica
  std::optional<bool> loss_agrees;  ///< the measured launch's first losses against the reference in the run's precision
  double loss_tolerance = results::loss_tolerance(Precision::fp32);
  std::vector<double> reference_losses;
};

/// The compute operations of a rank that fires them by readiness (executor:futurized).
struct FiredTasks {
  double per_step = 0;
  double median_s = 0;     ///< how long one takes
  double empty_s = 0;      ///< of one that does nothing: what firing costs
  double early_share = 0;  ///< of those that started before one that stands before them in the plan
};

/// What became of a worker's steps where servers take the gradients that come first: shares of the measured steps.
struct WorkerSteps {
  double taken = 0;     ///< whose update has its gradients, the mean over servers; those of all others were dropped
  double too_late = 0;  ///< in which it computed nothing, since it had newer weights before it began
};

struct RankMeasured {
  Rank rank;
  std::string host, device, cpuset;
  MemoryUsage peak_memory;
  /// nullopt with graph:on, whose steps are replayed as a whole, and where ranks share a GPU, whose multiprocessors
  /// they wait for.
  std::optional<Breakdown> breakdown_s;
  std::int64_t bytes_sent = 0, bytes_received = 0;  ///< per step
  /// Of its all-reduces, as nccl-tests define it; nullopt without such, and where ranks share a GPU.
  std::optional<double> bus_bandwidth_bytes_per_s;
  std::optional<Arithmetic> arithmetic;  ///< nullopt in files of schema 1.1 and before
  std::optional<WorkerSteps> steps;      ///< nullopt where all gradients are taken, of servers, and in older files
  std::optional<FiredTasks> tasks;       ///< nullopt where operations start in the plan's order, and in older files
};

/// Order statistics over all samples of all repetitions, of our ranks and of other products alike, by summarise():
/// quantile() of base/statistics.h; ci95: bootstrap over launches where there are several, else over steps.
struct StepTime {
  std::vector<std::vector<double>> samples;  ///< [repetition][step], warm-up left out
  double median = 0, p10 = 0, p90 = 0;
  std::pair<double, double> ci95{0, 0};
};

struct Baseline {
  std::string id;
  double speedup = 0, efficiency = 0;
};

struct Measured {
  StepTime step_time_s;                          ///< steady state
  std::optional<StepTime> isolated_step_time_s;  ///< steps that begin when all ranks are ready, between barriers
  double throughput_samples_per_s = 0;
  double achieved_flops_per_s = 0;
  std::vector<double> losses;  ///< from the first warm-up step on, first repetition
  int warmup_steps = 0;
  std::optional<Baseline> baseline;
  std::vector<RankMeasured> ranks;
  std::optional<StopReason> stopped_by;  ///< nullopt: a file of schema 1.6 or before
  std::string reduction;     ///< Capabilities::reduction of the communicator; "": one rank, or an older file
  std::string mpi_settings;  ///< comm::mpi_settings(); "": without MPI, or an older file
  std::optional<StepTimeline> timeline;  ///< of a typical step of the first launch; nullopt: too long, or an older file
  std::vector<Canary> canaries;          ///< of each launch; empty: not on the processor, of a peer, or an older file
};

/// A round of a launch that calibrates and trains in turn (run --paired).
struct PairedRound {
  double predicted_step_time_s = 0;  ///< from what the round calibrated
  double measured_step_time_s = 0;   ///< median of the steps right before it and right after
  struct Breakdowns {
    Breakdown predicted, measured;
  };
  /// Of both, in the mean over ranks, with the step time as their sum: shares are means over steps, which a slow one
  /// moves more than it moves a median. nullopt: older files.
  std::optional<Breakdowns> breakdown_s;
};

/// How far repeated measurements of a case are from each other: what a prediction from another time cannot be expected
/// to undercut.
struct NoiseFloor {
  double relative = 0;      ///< mean of |predicted - measured| / measured
  bool of_launches = true;  ///< each launch predicted by the median of the others; else from the calibration's spread
};

/// A forecast's error without the machine's drift (drift.h).
struct AdjustedError {
  double relative = 0;  ///< (adjusted prediction - measured) / measured
  double exponent = 0;  ///< by which the drift of the matrix product counts
};

struct PredictionError {
  double step_time_relative = 0;          ///< (predicted - measured) / measured
  std::optional<AdjustedError> adjusted;  ///< of step_time_relative; nullopt where drift.h has none
  /// The median of the same over paired rounds: of the model alone, without the machine's drift since the calibration.
  std::optional<double> paired_step_time_relative;
  std::optional<NoiseFloor> noise_floor;     ///< of step_time_relative; nullopt: one launch, and costs without spread
  std::vector<double> peak_memory_relative;  ///< per rank, total_counted; of ranks that counted none (emulated), none
  std::vector<double> resident_memory_relative;  ///< per rank, where resident memory was predicted and measured
  std::vector<Breakdown> breakdown_s;            ///< predicted - measured, per rank; of ranks without a breakdown, none
};

struct PlanSummary {
  std::string hash;
  std::vector<int> partition;      ///< layers of each stage
  std::vector<int> replicas = {};  ///< ranks that hold each stage; empty: not known (older files)
};

/// Where a rank was last heard of when its launch was given up.
struct LastOperation {
  Rank rank;
  std::string host;
  std::string operation;  ///< "step 3 1RECV_F2"; "" outside a plan
  bool operator==(const LastOperation&) const = default;
};

struct Record {
  std::string id;
  Case parameters;
  std::optional<PlanSummary> plan;
  Status status = Status::ok;
  std::string reason;  ///< "" becomes null
  Equivalence equivalence;
  std::optional<Measured> measured;
  std::optional<Predicted> predicted;
  std::optional<PredictionError> error;
  std::vector<PairedRound> paired;             ///< in their order; empty without --paired, and in older files
  std::optional<Canary> paired_canary;         ///< of the launch of these rounds
  std::vector<std::string> earlier_failures;   ///< reasons of the attempts before this one (--retries)
  std::vector<LastOperation> last_operations;  ///< of a launch that failed, as far as ranks told
  std::string emulate;                         ///< what --emulate gave; "" where nothing was, and in older files
  std::string launch;                          ///< the command of the last launch, for a shell; "" where there was none
  std::string reproduce;
};

/// Summary fields of `time` from its samples. Throws std::invalid_argument when there is none.
void summarise(StepTime& time);

}  // namespace parabench::results
