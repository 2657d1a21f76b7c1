#include "results/disturbance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/counted.h"
#include "base/units_text.h"

namespace parabench::results {
namespace {

std::optional<double> most_of_launches(const Record& record, std::optional<double> Canary::*told) {
  std::optional<double> most = record.paired_canary ? *record.paired_canary.*told : std::nullopt;
  for (const Canary& canary : record.measured->canaries) most = std::max(most, canary.*told);
  return most;
}

}  // namespace

Disturbance disturbance_of(const Record& record) {
  return {most_of_launches(record, &Canary::steal_share), most_of_launches(record, &Canary::matrix_product_spread)};
}

std::string disturbance_text(std::span<const Record> records) {
  Disturbance most;
  int known = 0, disturbed = 0;
  for (const Record& record : records) {
    if (!record.measured) continue;
    const Disturbance one = disturbance_of(record);
    if (!one.is_known()) continue;
    ++known;
    disturbed += one.is_large();
    most = {std::max(most.steal_share, one.steal_share), std::max(most.core_spread, one.core_spread)};
  }
  if (disturbed == 0) return "";
  std::vector<std::string> what;
  if (most.core_spread > disturbing_core_spread)
    what.push_back(fmt::format("ran up to {:.2f} times as slow at one time as at another", *most.core_spread));
  if (most.steal_share > disturbing_steal_share)
    what.push_back(fmt::format("lost up to {} of their time to the hypervisor", human_share(*most.steal_share)));
  return fmt::format("in {} of {} the cores {}: times differ by what the machine did", disturbed,
                     counted(known, "case"), fmt::join(what, " and "));
}

}  // namespace parabench::results
