#include "parallelism/plan/schedules/makespan.h"

#include <algorithm>
#include <cmath>

namespace parabench::plan {
namespace {

/// Equal within a tenth: what "equal passes" may mean of measured ones.
bool is_near(double a, double b) { return std::abs(a - b) <= 0.1 * b; }

double whole(const PassTimes& t) { return t.forward + t.backward; }
double split(const PassTimes& t) { return t.forward + t.input + t.weight; }
double others(const Pipe& pipe) { return pipe.devices - 1; }

}  // namespace

std::optional<double> one_chunk_makespan(const Pipe& pipe, const PassTimes& t) {
  return (pipe.micro_batches + others(pipe)) * whole(t);
}

std::optional<double> interleaved_makespan(const Pipe& pipe, const PassTimes& t) {
  if (pipe.micro_batches >= pipe.devices) return looped_makespan(pipe, t);
  return whole(t) * (pipe.devices + (pipe.micro_batches - 1.0) / pipe.chunks);
}

std::optional<double> looped_makespan(const Pipe& pipe, const PassTimes& t) {
  if (pipe.micro_batches < pipe.devices) return std::nullopt;
  return pipe.micro_batches * whole(t) + others(pipe) * whole(t) / pipe.chunks;
}

std::optional<double> h1_makespan(const Pipe& pipe, const PassTimes& t) {
  if (pipe.micro_batches < pipe.devices) return std::nullopt;
  return pipe.micro_batches * split(t) + others(pipe) * std::max({t.forward, t.input, t.forward + t.input - t.weight});
}

std::optional<double> h2_makespan(const Pipe& pipe, const PassTimes& t) {
  if (pipe.micro_batches < 2 * pipe.devices - 1) return std::nullopt;
  return pipe.micro_batches * split(t) +
         others(pipe) * std::max({t.forward, t.forward + t.input - 2 * t.weight, t.input - t.forward});
}

std::optional<double> zero_bubble_v_makespan(const Pipe& pipe, const PassTimes& t) {
  if (pipe.micro_batches < 2 * pipe.devices - 1) return std::nullopt;
  if (!is_near(t.input, t.forward) || !is_near(t.weight, t.forward)) return std::nullopt;
  return pipe.micro_batches * split(t) + others(pipe) * t.forward / 2;
}

std::optional<double> dual_pipe_v_makespan(const Pipe& pipe, const PassTimes& t) {
  const bool in_range = pipe.micro_batches >= 2 * pipe.devices && t.input <= 1.1 * t.forward &&
                        t.forward <= t.backward && is_near(t.input + t.weight, t.backward);
  if (!in_range) return std::nullopt;
  return pipe.micro_batches * whole(t) + others(pipe) * std::max(t.forward, t.forward + t.input - t.weight) / 2;
}

std::optional<double> chimera_makespan(const Pipe& pipe, const PassTimes& t) {
  const double P = pipe.devices, M = pipe.micro_batches;
  if (M != P) return std::nullopt;
  if (is_near(t.backward, t.forward)) return (2 * M + P - 2) * t.forward;
  if (is_near(t.backward, 2 * t.forward)) return (3 * M + 2 * P - 4) * t.forward;
  return std::nullopt;
}

}  // namespace parabench::plan
