#include "parallelism/plan/schedules/in_flight.h"

#include <algorithm>

namespace parabench::plan {
namespace {

int at_most_all(const Pipe& pipe, int pairs) { return std::min(pairs, pipe.micro_batches); }

}  // namespace

int everything_in_flight(const Pipe& pipe, int) { return pipe.chunks * pipe.micro_batches; }

int alternating_in_flight(const Pipe& pipe, int device) {
  return at_most_all(pipe, std::max(pipe.devices - device, pipe.warmup - 2 * device + 1));
}

int interleaved_in_flight(const Pipe& pipe, int device) {
  const int group = pipe.micro_batches / std::max(1, pipe.micro_batches / pipe.devices);
  return std::min(2 * (pipe.devices - 1 - device) + (pipe.chunks - 1) * group + 1, everything_in_flight(pipe, device));
}

int h1_in_flight(const Pipe& pipe, int) { return at_most_all(pipe, pipe.devices); }
int h2_in_flight(const Pipe& pipe, int) { return at_most_all(pipe, 2 * pipe.devices - 1); }
int zero_bubble_v_in_flight(const Pipe& pipe, int) { return 2 * at_most_all(pipe, pipe.devices); }
int dual_pipe_v_in_flight(const Pipe& pipe, int) { return 2 * pipe.devices + 1; }

}  // namespace parabench::plan
