// A small case for tests of what does not read it whole.
#pragma once

#include <string>

#include "base/case.h"

namespace parabench {

inline Case case_of(const std::string& strategy, int np, int batch, int micro = Case{}.micro) {
  Case spec;
  spec.model.name = "resnet18";
  spec.dataset.name = "cifar10-synthetic";
  spec.strategy.name = strategy;
  spec.np = np;
  spec.batch = batch;
  spec.micro = micro;
  return spec;
}

}  // namespace parabench
