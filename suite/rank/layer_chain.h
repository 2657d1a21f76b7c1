// Times the layers of a model, or the segments of a plan, as a chain, as the executor runs them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/execution.h"
#include "parallelism/exec/stage_state.h"
#include "parallelism/plan/plan.h"
#include "suite/rank/launch.h"

namespace parabench::rank {

/// A whole model as one chain of segments on one rank: single layers, or those of a plan. `step_s` is the median step.
/// Segments, the update and `overhead_s` between operations add up to it: medians of the parts alone add up to less,
/// since what disturbs a step falls on one part or another, so the segments' are scaled. Their deviations add up to the
/// step's, of which each segment has the share that it has of the time: what makes a step longer is the machine, which
/// does not stop between segments.
struct LayerChain {
  std::vector<plan::Segment> segments;
  std::vector<analytic::LayerTiming> timings;  ///< [segment]
  double update_s = 0, overhead_s = 0, step_s = 0;
  std::vector<double> steps_s;  ///< of each step, in their order; never of replayed ones
};

/// Medians and their deviations, of whole passes and of the halves of backwards.
inline constexpr std::array pass_seconds = {&analytic::LayerTiming::forward_s, &analytic::LayerTiming::backward_s,
                                            &analytic::LayerTiming::forward_mad_s,
                                            &analytic::LayerTiming::backward_mad_s};
inline constexpr std::array half_seconds = {&analytic::SplitTiming::input_s, &analytic::SplitTiming::weight_s,
                                            &analytic::SplitTiming::input_mad_s, &analytic::SplitTiming::weight_mad_s};

/// Multiplies the times of the segments.
void stretch(LayerChain& chain, double factor);
/// Gives segments the deviations that add up to a step's standard deviation; none to those that take no time.
void deviate(LayerChain& chain, double deviation_s);

/// Called between making a chain's state and its first step, before each of the chains.
using Ready = std::function<void()>;

/// Lets libraries choose their algorithms for the chains of so many samples (tuning.h), on the calling thread.
void tune_layers(const Launch& launch, exec::Device& device, int samples);

struct ChainSteps {
  int timed = 0, discarded = 2;  ///< these come first
};

/// The chains of a launch, over these segments. A segment of several layers takes another time than these by
/// themselves: their tensors are handed on within one graph, and the gradients of all are taken over at its end. The
/// chains train the same weights, which are made once and, with a learning rate of zero, stay as they are: a launch may
/// time chains as often as it wants.
class LayerChains {
 public:
  LayerChains(const Launch& launch, exec::Device& device, std::vector<plan::Segment> segments)
      : launch_(launch), device_(device), segments_(std::move(segments)) {}

  /// Runs so many steps on `samples` samples, under the keys of the launch's case that a layer's time depends on. Where
  /// the launch's plan splits backwards, as many steps again with all I and then all W, as a stage of one segment has
  /// them. Where its steps are replayed (graph:on), the parts add up to a replayed step.
  /// Ranks whose chains are to run side by side meet in `ready`, which is called as often on each.
  LayerChain time(int samples, const ChainSteps& steps, const Ready& ready);
  /// Adds to a chain what passes hold at most that add to gradients, in a step of two micro-batches, and in another one
  /// with split backwards where the launch's plan has them. Nothing is timed: it may run whatever others do.
  /// Precondition: time() of this object made the chain, of so many samples.
  void measure_adding(LayerChain& chain, int samples);

 private:
  struct Samples;
  plan::Plan step_of(int samples) const;
  Samples run(const plan::Plan& step, const ChainSteps& steps, const Ready& ready);
  exec::Execution train(const plan::Plan& plan, StepId measure_from, const Ready& ready);
  double replayed_step_s(plan::Plan step, int steps, const Ready& ready);

  const Launch& launch_;
  exec::Device& device_;
  std::vector<plan::Segment> segments_;
  std::unique_ptr<exec::StageState> state_;
};

}  // namespace parabench::rank
