// What a rank is asked to do with the small network that the executor's tests train.
#pragma once

#include <string>

#include "suite/rank/launch.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::rank {

/// Of a case with these keys, over so many steps; what it is to do with them, `command`, is left to the caller.
inline Launch small_launch(const std::string& keys, int steps = 1) {
  Launch launch;
  launch.model = exec::small_network();
  launch.source = exec::small_source();
  launch.plan = exec::small_plan(keys, steps);
  return launch;
}

}  // namespace parabench::rank
