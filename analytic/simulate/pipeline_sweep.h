// The steps of a pipeline on paper, by its outline.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "analytic/costs/time_model.h"
#include "parallelism/plan/strategies/pipeline_outline.h"
#include "parallelism/plan/timeline.h"

namespace parabench::analytic {

/// What the passes and updates of one rank take, whose device, or cores, it has to itself. Micro-batches differ by one
/// sample at most, the smaller ones last.
struct RankSeconds {
  static constexpr int kinds = static_cast<int>(plan::OpKind::recompute) + 1;
  /// [chunk][kind][smaller than micro-batch 0][adds to gradients that an earlier micro-batch made]
  std::vector<std::array<std::array<std::array<double, 2>, 2>, kinds>> passes;
  std::vector<double> updates;  ///< in the order of the rank's lane

  double of(plan::OpKind kind, int chunk, bool smaller, bool adds) const {
    return passes[chunk][static_cast<int>(kind)][smaller][adds];
  }
};

/// When what comes to a stage from another rank was made there, and when its message had come: [stage][micro-batch].
/// Not a number where it comes from the rank itself.
struct Arrivals {
  std::unique_ptr<double[]> made, came;
};
struct SweptStep {
  /// What was made when is kept of measured steps alone.
  Arrivals activations, gradients;  ///< into the stage; of its output
  double completed = 0;
  std::vector<double> ended;  ///< when each rank had
};

/// Where the messages from one rank to another in one direction go, in the order of the passes that make them.
struct MessageLane {
  int sender = 0, receiver = 0;
  bool forwards = true;          ///< activations; else gradients
  std::vector<int> from_chunks;  ///< the sender's stages, of each chunk; -1: what it makes goes elsewhere
};
/// The stage that receives what a pass of the sender makes, -1 where it does not go over the lane.
inline int receiving_stage(const MessageLane& lane, const plan::StagePass& pass) {
  if (lane.forwards ? pass.kind != plan::OpKind::forward : !plan::makes_input_gradient(pass.kind)) return -1;
  const int from = lane.from_chunks[pass.chunk];
  return from < 0 ? -1 : from + (lane.forwards ? 1 : -1);
}

struct SweptPipeline {
  std::vector<SweptStep> steps;
  /// Where every step is as the first one, so many seconds after the one before: the first one alone is listed, and
  /// measured for all of them.
  std::optional<double> period;
  int discarded = 0;                 ///< steps at the beginning that are not measured
  std::vector<RankSeconds> seconds;  ///< by rank
  std::vector<MessageLane> lanes;
};

/// The times that simulate() gives all passes and messages of the steps of `asked` in the plan of the outline, where
/// ranks share nothing (time.cores() is 0). Steps that begin alike are alike. So the first step tells all others where
/// every rank has ended it before the second one has anything for it to do, and every lane of messages as well; and as
/// simulate_window() the sweep ends with the first step among those that are discarded, or the first one behind, after
/// which every rank and lane is as it was after the step before, some time later, to 1e-12 of the time so far. Throws
/// std::logic_error where ranks wait for each other. O(passes) in each step.
SweptPipeline sweep(const plan::PipelineOutline& outline, const TimeModel& time, const plan::Window& asked);

/// Whether a micro-batch has fewer samples than the first one.
bool is_smaller(const plan::Plan& plan, int micro_batch);
/// Whether forwards of a micro-batch run again, of as many as there are, which pass every stage in rising order.
bool runs_again(Recompute which, int micro_batch, int micro_batches);

}  // namespace parabench::analytic
