#include "parallelism/plan/schedules/all_forwards_first.h"

namespace parabench::plan {

// P = 3, M = 3, backwards twice as long as forwards:
//   p0 F0 F1 F2 .  .  .  .  .  .  B0 B0 B1 B1 B2 B2
//   p1 .  F0 F1 F2 .  .  .  B0 B0 B1 B1 B2 B2
//   p2 .  .  F0 F1 F2 B0 B0 B1 B1 B2 B2
// With several chunks: chunk by chunk, backwards in reverse (looped BFS, Lamy-Poirier 2022).
DeviceOrder all_forwards_first(const Pipe& pipe, int) {
  DeviceOrder order;
  for (int chunk = 0; chunk < pipe.chunks; ++chunk) {
    for (int m = 0; m < pipe.micro_batches; ++m) order.push_back({OpKind::forward, chunk, m});
  }
  for (int chunk = pipe.chunks - 1; chunk >= 0; --chunk) {
    for (int m = 0; m < pipe.micro_batches; ++m) order.push_back({OpKind::backward, chunk, m});
  }
  return order;
}

}  // namespace parabench::plan
