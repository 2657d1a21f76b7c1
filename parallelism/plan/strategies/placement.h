// Cuts a model into stages, makes the empty plan that a strategy fills, and appends passes of whole stages to it.
#pragma once

#include <span>
#include <vector>

#include "models/spec/model.h"
#include "parallelism/plan/formats/given_schedule.h"
#include "parallelism/plan/partition/partition.h"
#include "parallelism/plan/partition/profile.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// What a strategy writes its plan from.
struct StrategyInput {
  const Case& spec;
  const models::ModelSpec& model;
  const Profile& profile;
  int steps = 1;                         ///< window of an asynchronous strategy
  const GivenSchedule* given = nullptr;  ///< of strategy csv
};

enum class Grain {
  stage,  ///< one segment per stage
  layer,  ///< one segment per layer, so that what happens between layers can overlap
};

/// The stages that a model is cut into.
struct Stages {
  int count = 1;
  std::vector<int> layers = {};     ///< of each, where they are known; else by the case's partition rule
  std::vector<int> widths = {};     ///< ranks that share each and its time; empty: one
  std::vector<int> in_flight = {};  ///< most micro-batches in flight on a rank of each, for partition:memory
  int weight_versions = 1;          ///< that a rank holds; 0: one for each micro-batch in flight
};

/// A plan with these stages and the strategy's delay rules, np ranks that hold nothing yet, and the batch cut into
/// `micro_batches` pieces for each of `replicas`, after which each stage updates once: cut by time as
/// Profile::seconds_per_piece() has it. Throws usage_error where the profile lacks what the partition rule cuts by, and
/// for partition:memory where no cut keeps the case's limit.
Plan cut_model(const StrategyInput& input, const Stages& stages, Grain grain, int replicas, int micro_batches);

/// Each layer by itself, from which any cut of the model can be predicted; all of one stage.
std::vector<Segment> single_layers(const models::ModelSpec& model);

/// What each layer keeps on a rank that holds so many versions of its weights; 0: one for each micro-batch in flight.
/// Throws usage_error where the profile lacks sizes.
std::vector<LayerBytes> layer_bytes(const StrategyInput& input, int weight_versions);

/// Gradient bytes of each segment of a plan whose ranks have their holdings.
std::vector<Bytes> gradient_bytes(const Plan& plan, const models::ModelSpec& model);

/// Appends a pass of every segment of a stage to the rank's compute lane: forwards in layer order, others in reverse.
void pass_stage(const Plan& plan, RankProgram& rank, OpKind kind, StageId stage, MicroBatchId m, StepId step,
                VersionId version);

}  // namespace parabench::plan
