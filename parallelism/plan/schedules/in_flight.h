// Most pairs of chunk and micro-batch that device p of a pipeline holds between forward and last backward: exact, but
// for zb-v with M < 2P - 1, an upper bound.
#pragma once

#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

int everything_in_flight(const Pipe& pipe, int device);     ///< v M: gpipe, looped BFS
int alternating_in_flight(const Pipe& pipe, int device);    ///< min(P - p, M) or, with a warm-up w, min(w - 2p + 1, M)
int interleaved_in_flight(const Pipe& pipe, int device);    ///< min(2 (P - 1 - p) + (v - 1) G + 1, v M), G as it groups
int h1_in_flight(const Pipe& pipe, int device);             ///< min(P, M)
int h2_in_flight(const Pipe& pipe, int device);             ///< min(2P - 1, M)
int zero_bubble_v_in_flight(const Pipe& pipe, int device);  ///< 2 min(P, M)
int dual_pipe_v_in_flight(const Pipe& pipe, int device);    ///< 2P + 1

}  // namespace parabench::plan
