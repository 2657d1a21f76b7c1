#include "results/baseline.h"

#include <algorithm>

#include "results/summary.h"

namespace parabench::results {
namespace {

int cores(const Case& spec) { return spec.np * spec.threads; }

bool is_sequential(const Record& record) { return record.parameters.strategy.name == "sequential"; }

bool is_baseline_of(const Record& candidate, const Case& spec) {
  const Case& base = candidate.parameters;
  return candidate.measured && counts(candidate) && is_sequential(candidate) && base.np == 1 &&
         cores(base) == cores(spec) && base.model == spec.model && base.dataset == spec.dataset &&
         base.batch == spec.batch && base.precision == spec.precision && base.layout == spec.layout &&
         base.device == spec.device && base.optimizer == spec.optimizer && base.input == spec.input &&
         base.graph == spec.graph;
}

}  // namespace

void fill_baselines(std::span<Record> records) {
  for (Record& record : records) {
    if (!record.measured) continue;
    record.measured->baseline.reset();
    if (is_sequential(record) || !counts(record)) continue;
    const auto base = std::ranges::find_if(
        records, [&record](const Record& candidate) { return is_baseline_of(candidate, record.parameters); });
    if (base == records.end()) continue;
    const double speedup = record.measured->throughput_samples_per_s / base->measured->throughput_samples_per_s;
    record.measured->baseline =
        Baseline{base->id, speedup, speedup * cores(base->parameters) / cores(record.parameters)};
  }
}

}  // namespace parabench::results
