#include "base/processor_ticks.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace parabench {

std::optional<ProcessorTicks> processor_ticks(std::istream& stat) {
  std::string line, name;
  std::getline(stat, line);
  std::istringstream fields(line);
  // user nice system idle iowait irq softirq steal; guests, which follow, are in the first two.
  double ticks[8] = {};
  fields >> name;
  for (double& one : ticks) fields >> one;
  if (!fields || name != "cpu") return std::nullopt;
  ProcessorTicks sum{.stolen = ticks[7]};
  for (const double one : ticks) sum.all += one;
  return sum;
}

std::optional<ProcessorTicks> processor_ticks() {
  std::ifstream stat("/proc/stat");
  return processor_ticks(stat);
}

std::optional<double> stolen_share(const std::optional<ProcessorTicks>& before,
                                   const std::optional<ProcessorTicks>& after) {
  if (!before || !after || after->all <= before->all) return std::nullopt;
  return std::max(0.0, after->stolen - before->stolen) / (after->all - before->all);
}

}  // namespace parabench
