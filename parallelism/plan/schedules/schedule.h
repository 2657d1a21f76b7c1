// A pipeline schedule: what each device computes in a step, in which order. Everything else follows.
#pragma once

#include <vector>

#include "parallelism/plan/strategies/placement.h"

namespace parabench {

/// How the stages of a pipeline lie on its P devices.
enum class StageOrder {
  looped,   ///< chunk c of device p is stage cP + p
  folded,   ///< two chunks in a V: stage p and stage 2P - 1 - p, so that both ends lie on device 0
  crossed,  ///< two pipelines against each other: chunk 0 is stage p of one, chunk 1 stage P - 1 - p of the other
};

struct Pipe {
  int devices = 1;        ///< P
  int micro_batches = 1;  ///< M of one pipeline and step; crossed: of both together
  int chunks = 1;         ///< v, stages per device
  int warmup = 0;         ///< forwards that device 0 starts with, for schedules that leave it open
};

/// One stage's pass of one micro-batch: F, B, I or W.
struct StagePass {
  OpKind kind = OpKind::forward;
  int chunk = 0;
  int micro_batch = 0;         ///< crossed: counted from 0 in each direction
  bool overlaps_next = false;  ///< an F that may run at the same time as the pass after it
};
using DeviceOrder = std::vector<StagePass>;

struct Schedule {
  StageOrder stages = StageOrder::looped;
  /// What device p computes, in order. Throws usage_error for a pipe that it cannot serve.
  DeviceOrder (*order)(const Pipe& pipe, int device) = nullptr;
  /// Most pairs of chunk and micro-batch that the device holds between forward and last backward.
  int (*in_flight)(const Pipe& pipe, int device) = nullptr;
};

/// The plan of one step: dp copies of the pipeline, messages, gradient reductions between them and updates. Device p of
/// copy d is rank dP + p. With copies a segment is a layer, so that reductions start while backwards still run.
Plan pipeline_plan(const StrategyInput& input, const Schedule& schedule, int chunks);

/// Adds what follows from the passes of one step: messages, reductions between copies, updates.
Plan finish_step(Plan passes, const StrategyInput& input);

// The orders, one file each.
DeviceOrder all_forwards_first(const Pipe& pipe, int device);        ///< GPipe, looped BFS
DeviceOrder one_forward_one_backward(const Pipe& pipe, int device);  ///< 1F1B, DAPPLE
DeviceOrder interleaved(const Pipe& pipe, int device);
DeviceOrder zero_bubble_h1(const Pipe& pipe, int device);
DeviceOrder zero_bubble_h2(const Pipe& pipe, int device);
DeviceOrder zero_bubble_v(const Pipe& pipe, int device);
DeviceOrder dual_pipe_v(const Pipe& pipe, int device);
DeviceOrder chimera(const Pipe& pipe, int device);

/// What 1F1B comes to on one device that starts `ahead` forwards ahead, or as many as there are.
DeviceOrder alternating(int ahead, int micro_batches);

}  // namespace parabench
