#include "results/report/scaling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/statistics.h"
#include "results/baseline.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

bool fits(ScalingKind kind, const Case& reference, const Case& spec) {
  switch (kind) {
    case ScalingKind::one_rank: return reference.threads == spec.threads && reference.batch == spec.batch;
    case ScalingKind::batch_per_rank:
      return reference.threads == spec.threads && reference.batch * spec.np == spec.batch && spec.np > 1;
    case ScalingKind::same_cores: return cores(reference) == cores(spec) && reference.batch == spec.batch;
  }
  return false;
}

bool fits_some_kind(const Case& reference, const Case& spec) {
  return std::ranges::any_of(enum_values<ScalingKind>, [&](ScalingKind kind) { return fits(kind, reference, spec); });
}

/// Whether a record is compared with others.
bool is_compared(const Record& record) { return counts(record) && record.measured && !is_reference(record); }

/// In what a reference would have to be another one.
std::vector<std::string_view> differences(const Case& reference, const Case& spec) {
  std::vector<std::string_view> out = obstacles(reference, spec);
  if (fits_some_kind(reference, spec)) return out;
  const bool whole = reference.batch == spec.batch;
  if (!whole && reference.batch * spec.np != spec.batch) out.push_back("batch");
  if (reference.threads != spec.threads && !(whole && cores(reference) == cores(spec))) out.push_back("threads");
  return out;
}

Scaling against(const Record& reference, const Record& record, ScalingKind kind) {
  const double more_cores = static_cast<double>(cores(record.parameters)) / cores(reference.parameters);
  Scaling out{kind, reference.id};
  out.speedup = record.measured->throughput_samples_per_s / reference.measured->throughput_samples_per_s;
  out.efficiency = out.speedup / more_cores;
  const std::vector<double> own = launch_medians(*record.measured), theirs = launch_medians(*reference.measured);
  if (std::min(own.size(), theirs.size()) >= fewest_launches) {
    // The same work takes as much less time as there are more samples per second; steps of weak scaling have more.
    const double work = static_cast<double>(record.parameters.batch) / reference.parameters.batch;
    const auto [low, high] = bootstrap_median_ratio(own, theirs);
    out.speedup_interval = {low * work, high * work};
    out.efficiency_interval = {low * work / more_cores, high * work / more_cores};
  }
  if (record.predicted && reference.predicted) {
    out.predicted_speedup = record.predicted->throughput_samples_per_s / reference.predicted->throughput_samples_per_s;
    out.predicted_efficiency = *out.predicted_speedup / more_cores;
  }
  return out;
}

}  // namespace

std::vector<Scaling> scalings(const Record& record, std::span<const Record* const> references) {
  std::vector<Scaling> out;
  if (!is_compared(record)) return out;
  for (const ScalingKind kind : enum_values<ScalingKind>) {
    const auto found = std::ranges::find_if(references, [&](const Record* reference) {
      return fits(kind, reference->parameters, record.parameters) && is_reference_of(*reference, record.parameters);
    });
    if (found != references.end()) out.push_back(against(**found, record, kind));
  }
  return out;
}

std::string why_no_scaling(const Record& record, std::span<const Record* const> references) {
  if (!is_compared(record)) return "";
  const Case& spec = record.parameters;
  std::optional<std::vector<std::string_view>> fewest;
  for (const Record* reference : references) {
    const Case& other = reference->parameters;
    if (other.model != spec.model || other.dataset != spec.dataset) continue;
    std::vector<std::string_view> these = differences(other, spec);
    if (!fewest || these.size() < fewest->size()) fewest = std::move(these);
  }
  if (!fewest) return "no sequential case of the same model and data set in the same file was measured and counts";
  return fewest->empty()
             ? ""
             : fmt::format("the nearest sequential case in the same file differs in {}", fmt::join(*fewest, ", "));
}

}  // namespace parabench::results
