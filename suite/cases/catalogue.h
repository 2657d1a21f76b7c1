// The grid of cases that `list` shows and filters choose from.
#pragma once

#include <vector>

#include "base/case.h"

namespace parabench::suite {

/// models x data sets x strategies x np 1, 2, 4 x device cpu, cuda: resnet18/34/50/101/152 on every synthetic data set
/// of images and on ImageNet's files, and other families on what they are known for, in each data set's customary
/// global batch (DDLBench 2020, table 2.4); sequential with np 1, the other strategies with np 2 and 4; other keys at
/// their defaults, so that ranks on GPUs talk through NCCL. The cases on cpu come first, the quick cases at their head.
std::vector<Case> catalogue();

/// One model, every family of strategies, two cores: what `quick` runs.
std::vector<Case> quick_cases();

}  // namespace parabench::suite
