#include "suite/machine/small_step.h"

#include "base/case_id.h"

namespace parabench::suite {

Forecast small_step(const analytic::MachineInfo& machine, bool processes, int warmup, int steps) {
  Case spec = parse_case("resnet18/imagenet-synthetic[pixels=32,classes=10]/data-parallel/np:2/batch:4");
  if (!processes) spec.comm = CommKind::threads;
  return make_forecast(make_subject(spec), {machine, nullptr}, warmup, steps);
}

}  // namespace parabench::suite
