// What a command is started with besides its options.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "suite/run/progress.h"

namespace parabench::suite {

struct Start {
  const std::vector<std::string>& argv;  ///< the program's name first
  Progress& progress;
  std::ostream& out;
};

}  // namespace parabench::suite
