#include "parallelism/plan/schedules/zero_bubble_v.h"

#include <algorithm>

#include "parallelism/plan/schedules/pass_writer.h"

namespace parabench::plan {

// Two chunks in a V (Qi et al. 2024, arXiv 2401.10241): first layer and loss lie on device 0, and all devices hold the
// same number of activations. The pattern is made for 2P - 1 micro-batches or more and thinned out for fewer.
DeviceOrder zero_bubble_v(const Pipe& pipe, int device) {
  const int behind = pipe.devices - device, pattern = std::max(pipe.micro_batches, 2 * pipe.devices - 1);
  PassWriter writer(pipe.micro_batches);
  const auto back = [&](int chunk) {
    writer.input_gradient(chunk);
    writer.weight_gradient(chunk);
  };
  for (int i = 0; i < 2 * behind - 1; ++i) writer.forward(0);
  for (int i = 0; i < device; ++i) {
    writer.forward(1);
    writer.forward(0);
  }
  for (int i = 0; i < behind; ++i) {
    writer.forward(1);
    back(1);
  }
  while (writer.forwards(1) < pattern) {
    if (writer.forwards(0) < pattern) writer.forward(0);
    back(0);
    writer.forward(1);
    back(1);
  }
  for (int i = 0; i < device; ++i) {
    writer.input_gradient(0);
    writer.input_gradient(1);
  }
  for (int i = 0; i < behind; ++i) back(0);
  for (int chunk : {1, 0}) {
    while (writer.is_open(chunk)) writer.weight_gradient(chunk);
  }
  return writer.take();
}

}  // namespace parabench::plan
