#include "parallelism/plan/schedules/chimera.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace parabench::plan {

// Two pipelines against each other, each with half of the micro-batches (Li and Hoefler, SC'21), from the paper's slot
// rule: with slots as long as a pass, micro-batch i of a unit runs forward on the s-th device of its direction in slot
// 2i + s and backward in slot 2i + 2P - 1 - s. A unit has P micro-batches; the next one begins 2P slots later and fills
// the first one's bubbles. P = 4, M = 4, d down and u up:
//   p0 F0d F1d F0u B0u F1u B1u B0d B1d
//   p1 F0d F0u F1d F1u B0u B0d B1u B1d
DeviceOrder chimera(const Pipe& pipe, int device) {
  const int half = pipe.devices / 2;
  std::vector<std::pair<int, StagePass>> slots;
  for (int m = 0; m < pipe.micro_batches / 2; ++m) {
    const int first_slot = m / half * 2 * pipe.devices + 2 * (m % half);
    for (int direction : {0, 1}) {
      const int s = direction == 0 ? device : pipe.devices - 1 - device;
      slots.push_back({first_slot + s, {OpKind::forward, direction, m}});
      slots.push_back({first_slot + 2 * pipe.devices - 1 - s, {OpKind::backward, direction, m}});
    }
  }
  std::ranges::sort(slots, {}, &std::pair<int, StagePass>::first);
  DeviceOrder order;
  for (const auto& [slot, pass] : slots) order.push_back(pass);
  return order;
}

std::optional<Error> refuse_odd_halves(const Pipe& pipe) {
  if (pipe.devices % 2 != 0) {
    return usage_error("np / dp", std::to_string(pipe.devices), "an even number of devices per pipeline for chimera",
                       "try np:" + std::to_string(pipe.devices + 1) + " with dp:1");
  }
  if (pipe.micro_batches % 2 == 0) return std::nullopt;
  return usage_error("micro", std::to_string(pipe.micro_batches), "an even number for chimera, half for each direction",
                     "try micro:" + std::to_string(pipe.micro_batches + 1));
}

}  // namespace parabench::plan
