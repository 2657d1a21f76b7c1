// A pipeline schedule: what each device computes in a step, in which order. Everything else follows.
#pragma once

#include <vector>

#include "parallelism/plan/op.h"

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

/// One stage's pass of one micro-batch: F, B, I or W. In 8 bytes: large pipelines have millions of them.
struct StagePass {
  OpKind kind = OpKind::forward;
  int chunk : 24 = 0;
  int micro_batch : 31 = 0;        ///< crossed: counted from 0 in each direction
  bool overlaps_next : 1 = false;  ///< an F that may run at the same time as the pass after it
};
using DeviceOrder = std::vector<StagePass>;

struct Schedule {
  StageOrder stages = StageOrder::looped;
  /// What device p computes, in order, of a pipe that the strategy serves.
  DeviceOrder (*order)(const Pipe& pipe, int device) = nullptr;
  /// Most pairs of chunk and micro-batch that the device holds between forward and last backward (in_flight.h).
  int (*in_flight)(const Pipe& pipe, int device) = nullptr;
};

}  // namespace parabench::plan
