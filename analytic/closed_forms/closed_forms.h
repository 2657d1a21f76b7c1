// Closed forms as a second opinion beside the simulation. All times in seconds, sizes in bytes.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace parabench {

/// One link between neighbours j and j+1.
struct Link {
  double latency_s = 0;
  double bytes_per_s = 0;
};

/// Data parallel, DDLBench thesis (Jansen 2020) Eq. 5.1: T_seq / W + 2 (W-1) max_i(L_i + min(G, th) / (W BW_i)); only
/// the last fused buffer of a ring all-reduce is exposed. `links`: the W ring neighbours' links; W = 1 costs no
/// communication.
double data_parallel_step(double sequential_s, int workers, double gradient_bytes, double fusion_bytes,
                          std::span<const Link> links);

/// GPipe compute, Eq. 6.1: T_seq (W + m - 1) / (W m); m = 1 is plain model parallelism.
double gpipe_compute(double sequential_s, int workers, int micro_batches);

/// GPipe communication, Eq. 6.2, lock-step without overlap. `boundary_s[j]` = x_j = L + mb A_j / BW of the boundary
/// between workers j and j+1 (W - 1 entries):
///   2 [sum_{i=1..W-2} max_{j<=i} x_j + (m - (W-2)) max_j x_j + sum_{i=2..W-1} max_{j>=i} x_j]
double gpipe_communication(std::span<const double> boundary_s, int micro_batches);

/// PipeDream's planner (its code): seconds of a stage of `compute_s` on m replicas with `parameter_bytes`:
/// (C + 4 (m-1) P / (m BW)) / m.
double pipedream_stage(double compute_s, double parameter_bytes, int replicas, double bytes_per_s);

/// Unequal stages, GPipe exact: sum(tF + tB) + (M-1)(max tF + max tB), the makespan of one drained step.
double gpipe_unequal(std::span<const double> forward_s, std::span<const double> backward_s, int micro_batches);

/// Ring all-reduce of n bytes over p ranks: 2 (p-1) alpha + 2 (p-1)/p n beta (+ (p-1)/p n gamma).
double ring_all_reduce(int ranks, double bytes, double alpha_s, double beta_s_per_byte, double gamma_s_per_byte);

/// Seconds of a device for one micro-batch: backward = input + weight where it is split.
struct PassSeconds {
  double forward = 1, backward = 2, input = 1, weight = 1;
};
/// Makespan of one step alone on equal devices with free messages, by strategy name; nullopt outside of the range in
/// which the formula holds:
///   gpipe, 1f1b, dapple     (M + P - 1)(tF + tB)
///   interleaved             M (tF + tB) + (P - 1)(tF + tB) / v for M >= P, (tF + tB)(P + (M - 1) / v) below
///   looped-bfs              M (tF + tB) + (P - 1)(tF + tB) / v for M >= P
///   zb-h1                   M t + (P - 1) max(tF, tI, tF + tI - tW), t = tF + tI + tW, M >= P
///   zb-h2                   M t + (P - 1) max(tF, tF + tI - 2 tW, tI - tF), M >= 2P - 1
///   zb-v                    M t + (P - 1) tF / 2 for tF = tI = tW, M >= 2P - 1
///   dualpipev               M (tF + tB) + (P - 1) max(tF, tF + tI - tW) / 2 for tI <= tF <= tB = tI + tW (within a
///                           tenth), M >= 2P: the passes of a pair follow each other, and each sends at its own end.
///                           DeepSeek's (P - 1)(F&B + B - 3W), in chunk times, has pairs that send at their common end.
///   chimera                 tB = tF: (2M + P - 2) tF; tB = 2 tF: (3M + 2P - 4) tF; M = P, both within a tenth
/// (Megatron-LM SC'21; arXiv 2401.10241; Chimera SC'21; ranges found by simulation.)
std::optional<double> schedule_makespan(std::string_view strategy, int devices, int micro_batches, int chunks,
                                        const PassSeconds& t);

}  // namespace parabench
