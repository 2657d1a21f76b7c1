#include "parallelism/plan/schedules/interleaved.h"

#include <algorithm>
#include <string>

namespace parabench::plan {
namespace {

int rounds(const Pipe& pipe) { return std::max(1, pipe.micro_batches / pipe.devices); }

}  // namespace

// Micro-batches go round the devices in groups of G: all of a group pass chunk 0, then all of it chunk 1, ...
// (Megatron-LM, Narayanan et al., SC'21; G as torch.distributed.pipelining chooses it). P = 2, M = 2, v = 2, the
// leading digit is the stage:
//   p0 0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1
//   p1 1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1
DeviceOrder interleaved(const Pipe& pipe, int device) {
  const int group = pipe.micro_batches / rounds(pipe), total = pipe.chunks * pipe.micro_batches;
  const int warmup = std::min(2 * (pipe.devices - 1 - device) + (pipe.chunks - 1) * group, total);
  const auto chunk = [&](int k) { return k % (pipe.chunks * group) / group; };
  const auto micro_batch = [&](int k) { return k / (pipe.chunks * group) * group + k % group; };
  DeviceOrder order;
  const auto run_forward = [&](int k) { order.push_back({OpKind::forward, chunk(k), micro_batch(k)}); };
  for (int k = 0; k < warmup; ++k) run_forward(k);
  for (int k = 0; k < total; ++k) {
    if (k + warmup < total) run_forward(k + warmup);
    order.push_back({OpKind::backward, pipe.chunks - 1 - chunk(k), micro_batch(k)});
  }
  return order;
}

std::optional<Error> refuse_uneven_rounds(const Pipe& pipe) {
  if (pipe.micro_batches % rounds(pipe) == 0) return std::nullopt;
  return usage_error("micro", std::to_string(pipe.micro_batches),
                     "a multiple of the " + std::to_string(rounds(pipe)) + " rounds over " +
                         std::to_string(pipe.devices) + " devices that interleaved makes of them",
                     "try micro:" + std::to_string(pipe.micro_batches / pipe.devices * pipe.devices));
}

}  // namespace parabench::plan
