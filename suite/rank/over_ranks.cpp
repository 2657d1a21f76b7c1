#include "suite/rank/over_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/statistics.h"
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

double at_once_s(std::span<const Interval> ranks, bool takes_turns) {
  if (takes_turns)
    return std::ranges::max(ranks, {}, &Interval::end_s).end_s -
           std::ranges::min(ranks, {}, &Interval::begin_s).begin_s;
  std::vector<double> seconds;
  for (const Interval& rank : ranks) seconds.push_back(rank.seconds());
  return mean(seconds);
}

}  // namespace parabench::rank
