#include "results/baseline.h"

#include <algorithm>

#include "results/summary.h"

namespace parabench::results {

bool same_training(const Case& a, const Case& b) {
  return a.model == b.model && a.dataset == b.dataset && a.precision == b.precision && a.layout == b.layout &&
         a.device == b.device && a.optimizer == b.optimizer && a.input == b.input && a.graph == b.graph;
}

int cores(const Case& spec) { return spec.np * spec.threads; }

bool is_reference(const Record& record) {
  return record.measured && record.parameters.strategy.name == "sequential" && record.parameters.np == 1 &&
         counts(record);
}

void fill_baselines(std::span<Record> records) {
  for (Record& record : records) {
    if (!record.measured) continue;
    record.measured->baseline.reset();
    const Case& spec = record.parameters;
    if (spec.strategy.name == "sequential" || !counts(record)) continue;
    const auto base = std::ranges::find_if(records, [&spec](const Record& candidate) {
      return is_reference(candidate) && cores(candidate.parameters) == cores(spec) &&
             candidate.parameters.batch == spec.batch && same_training(candidate.parameters, spec);
    });
    if (base == records.end()) continue;
    const double speedup = record.measured->throughput_samples_per_s / base->measured->throughput_samples_per_s;
    record.measured->baseline = Baseline{base->id, speedup, speedup * cores(base->parameters) / cores(spec)};
  }
}

}  // namespace parabench::results
