#include "parallelism/plan/schedules/one_forward_one_backward.h"

#include <algorithm>
#include <string>

namespace parabench::plan {

// P = 3, M = 4, backwards twice as long as forwards; as fast as gpipe with P - p micro-batches in flight instead of M:
//   p0 F0 F1 F2 .  .  .  .  B0 B0 F3 B1 B1 .  B2 B2 .  B3 B3
//   p1 .  F0 F1 .  .  B0 B0 F2 B1 B1 F3 B2 B2 .  B3 B3
//   p2 .  .  F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3
// With a longer warm-up (DAPPLE's policy B) messages overlap with work, and up to 2 (P - p) - 1 are in flight.
DeviceOrder one_forward_one_backward(const Pipe& pipe, int device) {
  return alternating(std::max(pipe.devices - 1 - device, pipe.warmup - 2 * device), pipe.micro_batches);
}

std::optional<Error> refuse_short_warmup(const Pipe& pipe) {
  const int least = pipe.devices - 1;
  if (pipe.warmup >= least) return std::nullopt;
  return usage_error("warmup", std::to_string(pipe.warmup),
                     "at least " + std::to_string(least) + ", the forwards until the last stage starts",
                     "leave warmup out for " + std::to_string(2 * least));
}

DeviceOrder alternating(int ahead, int micro_batches) {
  DeviceOrder order;
  order.reserve(2 * static_cast<std::size_t>(micro_batches));
  for (int m = 0; m < std::min(ahead, micro_batches); ++m) order.push_back({OpKind::forward, 0, m});
  for (int m = 0; m < micro_batches; ++m) {
    if (m + ahead < micro_batches) order.push_back({OpKind::forward, 0, m + ahead});
    order.push_back({OpKind::backward, 0, m});
  }
  return order;
}

}  // namespace parabench::plan
