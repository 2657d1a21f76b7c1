// Makespans of the literature: one step alone on P equal devices with free messages, M micro-batches and v chunks.
#pragma once

#include <optional>
#include <string_view>

#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

/// How long a device computes for one micro-batch, in any unit; backward = input + weight where it is split.
struct PassTimes {
  double forward = 1, backward = 2, input = 1, weight = 1;
};

/// A formula for people, with tF, tB, tI and tW of PassTimes and t = tF + tI + tW, and its value in the unit of the
/// passes; nullopt outside of the range in which it holds (Megatron-LM, SC'21; Qi et al., arXiv 2401.10241; Li and
/// Hoefler, SC'21; the ranges were found by simulation).
struct Makespan {
  std::string_view formula;
  std::optional<double> (*of)(const Pipe& pipe, const PassTimes& times) = nullptr;
};

std::optional<double> one_chunk_makespan(const Pipe& pipe, const PassTimes& times);  ///< GPipe, 1F1B, DAPPLE
std::optional<double> interleaved_makespan(const Pipe& pipe, const PassTimes& times);
std::optional<double> looped_makespan(const Pipe& pipe, const PassTimes& times);
std::optional<double> h1_makespan(const Pipe& pipe, const PassTimes& times);
std::optional<double> h2_makespan(const Pipe& pipe, const PassTimes& times);
std::optional<double> zero_bubble_v_makespan(const Pipe& pipe, const PassTimes& times);
/// A forward and the backward beside it run one after the other here, and each sends when it ends. DeepSeek's
/// (P - 1)(F&B + B - 3W), in chunk times, lets both send when the later one ends, so it differs.
std::optional<double> dual_pipe_v_makespan(const Pipe& pipe, const PassTimes& times);
std::optional<double> chimera_makespan(const Pipe& pipe, const PassTimes& times);

}  // namespace parabench::plan
