#include "suite/accuracy/closure.h"

#include "parallelism/plan/strategies/local_sgd.h"

namespace parabench::suite {

void note_closures(std::span<results::JudgedCase> cases) {
  for (results::JudgedCase& one : cases)
    if (one.parameters.np > 1 && plan::averaging(one.parameters).every >= steps_between_averages)
      one.closure_apart = one.paired;
}

}  // namespace parabench::suite
