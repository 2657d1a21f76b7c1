#include "parallelism/plan/schedules/dual_pipe_v.h"

#include <string>

#include "parallelism/plan/schedules/pass_writer.h"

namespace parabench::plan {

// DeepSeek's DualPipe with both directions folded onto one set of weights, in eight phases: forwards overlap with
// backwards of the other chunk (github.com/deepseek-ai/DualPipe).
DeviceOrder dual_pipe_v(const Pipe& pipe, int device) {
  const int behind = pipe.devices - device - 1;
  PassWriter writer(pipe.micro_batches);
  const auto overlapped = [&](int forward, int backward) {
    writer.forward(forward, /*overlaps_next=*/true);
    writer.backward(backward);
  };
  for (int i = 0; i < 2 * behind; ++i) writer.forward(0);
  for (int i = 0; i <= device; ++i) {
    writer.forward(0);
    writer.forward(1);
  }
  for (int i = 0; i < behind; ++i) {
    writer.input_gradient(1);
    writer.oldest_weight_gradient();
    writer.forward(1);
  }
  for (int i = 0; i < pipe.micro_batches - 2 * pipe.devices + device + 1; ++i) {
    // The last device's first backward needs the forward just before the pair.
    writer.forward(0, /*overlaps_next=*/i > 0 || behind > 0);
    writer.backward(1);
    overlapped(1, 0);
  }
  for (int i = 0; i < behind; ++i) {
    writer.backward(1);
    overlapped(1, 0);
  }
  // From half-way on, weight gradients are put off to fill the end.
  for (int i = 0; i < 2 * (device + 1); ++i) {
    const int chunk = i % 2 == 0 ? 1 : 0;
    if (i <= device) {
      writer.backward(chunk);
    } else {
      writer.input_gradient(chunk);
    }
  }
  for (int i = 0; i < behind; ++i) {
    writer.oldest_weight_gradient();
    writer.input_gradient(0);
  }
  for (int i = 0; i <= device; ++i) writer.oldest_weight_gradient();
  return writer.take();
}

std::optional<Error> refuse_fewer_than_twice_the_devices(const Pipe& pipe) {
  const int least = 2 * pipe.devices;
  if (pipe.micro_batches >= least) return std::nullopt;
  return usage_error("micro", std::to_string(pipe.micro_batches),
                     "at least " + std::to_string(least) + " for dualpipev: twice its devices",
                     "try micro:" + std::to_string(least));
}

}  // namespace parabench::plan
