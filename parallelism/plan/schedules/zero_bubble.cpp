#include "parallelism/plan/schedules/zero_bubble.h"

#include <algorithm>

namespace parabench::plan {

// Backwards are split: what the device before waits for (I) comes first, weight gradients (W) fill the bubbles (Qi et
// al. 2024, arXiv 2401.10241). P = 2, M = 4, all passes equally long:
//   p0 F0 F1 .  I0 W0 F2 I1 W1 F3 I2 W2 .  I3 W3
//   p1 .  F0 I0 F1 I1 W0 F2 I2 W1 F3 I3 W2 W3
DeviceOrder zero_bubble_h1(const Pipe& pipe, int device) {
  const int micro_batches = pipe.micro_batches;
  const int ahead = std::min(pipe.devices - 1 - device, micro_batches);
  int weights = 0;
  DeviceOrder order;
  for (int m = 0; m < ahead; ++m) order.push_back({OpKind::forward, 0, m});
  for (int m = 0; m < micro_batches; ++m) {
    if (m + ahead < micro_batches) order.push_back({OpKind::forward, 0, m + ahead});
    order.push_back({OpKind::backward_input, 0, m});
    if (m >= device) order.push_back({OpKind::backward_weight, 0, weights++});
  }
  while (weights < micro_batches) order.push_back({OpKind::backward_weight, 0, weights++});
  return order;
}

// Twice as many forwards ahead, up to 2P - 1 micro-batches in flight: without a barrier between steps no bubble at all.
DeviceOrder zero_bubble_h2(const Pipe& pipe, int device) {
  const int micro_batches = pipe.micro_batches;
  int forwards = 0, weights = 0;
  DeviceOrder order;
  const auto run_forward = [&] { order.push_back({OpKind::forward, 0, forwards++}); };
  while (forwards < std::min(2 * (pipe.devices - device) - 1, micro_batches)) run_forward();
  for (int m = 0; m < micro_batches; ++m) {
    order.push_back({OpKind::backward_input, 0, m});
    if (m >= 2 * device) order.push_back({OpKind::backward_weight, 0, weights++});
    if (forwards < micro_batches) run_forward();
  }
  while (weights < micro_batches) order.push_back({OpKind::backward_weight, 0, weights++});
  return order;
}

}  // namespace parabench::plan
