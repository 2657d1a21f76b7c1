// A pipeline schedule: what each device computes in a step, in which order. Everything else follows.
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

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
  int warmup = 0;         ///< forwards that device 0 starts with, for schedules that leave it open; else 0
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
  /// What device p computes, in order, of a pipe that the strategy serves.
  DeviceOrder (*order)(const Pipe& pipe, int device) = nullptr;
  /// Most pairs of chunk and micro-batch that the device holds between forward and last backward (in_flight.h).
  int (*in_flight)(const Pipe& pipe, int device) = nullptr;
};

/// The plan of one step: dp copies of the pipeline, messages, gradient reductions between them and updates. Device p of
/// copy d is rank dP + p. With copies a segment is a layer, so that reductions start while backwards still run.
Plan pipeline_plan(const StrategyInput& input, const Schedule& schedule, const Pipe& pipe);

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

// Why an order cannot serve a pipe, where it does not serve all.
std::optional<Error> refuse_short_warmup(const Pipe& pipe);                  ///< DAPPLE
std::optional<Error> refuse_uneven_rounds(const Pipe& pipe);                 ///< interleaved
std::optional<Error> refuse_fewer_than_twice_the_devices(const Pipe& pipe);  ///< DualPipeV
std::optional<Error> refuse_odd_halves(const Pipe& pipe);                    ///< Chimera

/// What 1F1B comes to on one device that starts `ahead` forwards ahead, or as many as there are.
DeviceOrder alternating(int ahead, int micro_batches);

}  // namespace parabench::plan
