#include "suite/rank/over_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "parallelism/comm/gather.h"

namespace parabench::rank {

std::vector<double> gathered(comm::Communicator& comm, double value) {
  std::vector<double> values;
  for (const std::string& text : comm::gather_to_root(comm, fmt::format("{}", value)))
    values.push_back(std::stod(text));
  if (values.empty()) values.push_back(value);
  return values;
}

double largest_of(comm::Communicator& comm, double value) { return std::ranges::max(gathered(comm, value)); }

}  // namespace parabench::rank
