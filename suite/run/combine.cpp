#include "suite/run/combine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace parabench::suite {
namespace {

void add(Breakdown& sum, const Breakdown& other) {
  for (const auto& [name, part] : breakdown_fields) sum.*part += other.*part;
}

void divide(Breakdown& sum, double count) {
  for (const auto& [name, part] : breakdown_fields) sum.*part /= count;
}

}  // namespace

results::Measured combine(std::span<const results::Measured> launches, int samples, double flops) {
  results::Measured all = launches.front();
  for (const results::Measured& launch : launches.subspan(1)) {
    const auto& steps = launch.step_time_s.samples;
    all.step_time_s.samples.insert(all.step_time_s.samples.end(), steps.begin(), steps.end());
    all.canaries.insert(all.canaries.end(), launch.canaries.begin(), launch.canaries.end());
    if (all.isolated_step_time_s && launch.isolated_step_time_s) {
      const auto& isolated = launch.isolated_step_time_s->samples;
      all.isolated_step_time_s->samples.insert(all.isolated_step_time_s->samples.end(), isolated.begin(),
                                               isolated.end());
    }
    for (std::size_t i = 0; i < all.ranks.size(); ++i) {
      results::RankMeasured& rank = all.ranks[i];
      const results::RankMeasured& other = launch.ranks[i];
      const MemoryUsage before = rank.peak_memory;
      if (other.peak_memory.total_counted() > before.total_counted()) rank.peak_memory = other.peak_memory;
      for (const auto peak : {&MemoryUsage::resident, &MemoryUsage::reserved, &MemoryUsage::device_used}) {
        rank.peak_memory.*peak = std::max(before.*peak, other.peak_memory.*peak);
      }
      if (rank.steps && other.steps) {
        rank.steps->taken += other.steps->taken;
        rank.steps->too_late += other.steps->too_late;
      }
      if (rank.breakdown_s && other.breakdown_s) add(*rank.breakdown_s, *other.breakdown_s);
      if (rank.bus_bandwidth_bytes_per_s)
        *rank.bus_bandwidth_bytes_per_s += other.bus_bandwidth_bytes_per_s.value_or(0);
    }
  }
  for (results::RankMeasured& rank : all.ranks) {
    const auto count = static_cast<double>(launches.size());
    if (rank.steps) rank.steps = {rank.steps->taken / count, rank.steps->too_late / count};
    if (rank.breakdown_s) divide(*rank.breakdown_s, count);
    if (rank.bus_bandwidth_bytes_per_s) *rank.bus_bandwidth_bytes_per_s /= count;
  }
  results::summarise(all.step_time_s);
  if (all.isolated_step_time_s) results::summarise(*all.isolated_step_time_s);
  all.throughput_samples_per_s = samples / all.step_time_s.median;
  all.achieved_flops_per_s = samples * flops / all.step_time_s.median;
  return all;
}

void judge_losses(results::Equivalence& equivalence, std::span<const double> losses, int launched_steps) {
  const auto& references = equivalence.reference_losses;
  if (references.empty()) return;
  equivalence.loss_agrees = true;
  const std::size_t steps = std::min<std::size_t>(launched_steps, references.size());
  for (std::size_t step = 0; step < steps; ++step) {
    const double loss = step < losses.size() ? losses[step] : std::nan("");
    // Written so that a NaN disagrees.
    if (std::abs(loss - references[step]) <= equivalence.loss_tolerance * std::abs(references[step])) continue;
    equivalence.loss_agrees = false;
    equivalence.reason = fmt::format("loss of step {} is {:.9g}, the reference's is {:.9g} (tolerance {:g} of it)",
                                     step, loss, references[step], equivalence.loss_tolerance);
    return;
  }
}

}  // namespace parabench::suite
