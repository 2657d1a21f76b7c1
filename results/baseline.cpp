#include "results/baseline.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/case_key.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

/// Keys of every case that say how it is computed, not what: what a speed-up is to judge. So do all that only
/// strategies read; of these sync_bn brings a case nearer to the sequential one, which sees whole batches.
constexpr std::array<std::string_view, 7> ways = {"np", "batch", "threads", "comm", "recompute", "memory", "executor"};
/// Those of them that sequential training has as well: a baseline that recomputes would flatter who does not.
constexpr std::array<std::string_view, 3> sequential_ways = {"recompute", "memory", "executor"};

bool agree(const CaseKey& key, const Case& a, const Case& b) { return key.compare(a, b) == 0; }

/// Whether the key says what is trained.
bool is_of_training(const CaseKey& key) {
  return !key.is_of_strategies() && std::ranges::find(ways, key.name) == ways.end();
}

}  // namespace

bool same_training(const Case& a, const Case& b) {
  const auto agrees = [&](const CaseKey& key) { return !is_of_training(key) || agree(key, a, b); };
  return a.model == b.model && a.dataset == b.dataset && std::ranges::all_of(case_keys(), agrees);
}

int cores(const Case& spec) { return spec.np * spec.threads; }

bool is_reference(const Record& record) {
  return record.measured && record.parameters.strategy.name == "sequential" && record.parameters.np == 1 &&
         counts(record);
}

std::vector<std::string_view> obstacles(const Case& reference, const Case& spec) {
  std::vector<std::string_view> out;
  if (reference.model != spec.model) out.push_back("model");
  if (reference.dataset != spec.dataset) out.push_back("data set");
  for (const CaseKey& key : case_keys()) {
    const bool is_sequential_way = std::ranges::find(sequential_ways, key.name) != sequential_ways.end();
    if (!is_of_training(key) && !is_sequential_way) continue;
    if (!agree(key, reference, spec) && !(is_sequential_way && agree(key, reference, Case{}))) out.push_back(key.name);
  }
  return out;
}

bool is_reference_of(const Record& reference, const Case& spec) {
  return is_reference(reference) && obstacles(reference.parameters, spec).empty();
}

void fill_baselines(std::span<Record> records) {
  for (Record& record : records) {
    if (!record.measured) continue;
    record.measured->baseline.reset();
    const Case& spec = record.parameters;
    if (spec.strategy.name == "sequential" || !counts(record)) continue;
    const auto base = std::ranges::find_if(records, [&spec](const Record& candidate) {
      return cores(candidate.parameters) == cores(spec) && candidate.parameters.batch == spec.batch &&
             is_reference_of(candidate, spec);
    });
    if (base == records.end()) continue;
    const double speedup = record.measured->throughput_samples_per_s / base->measured->throughput_samples_per_s;
    record.measured->baseline = Baseline{base->id, speedup, speedup * cores(base->parameters) / cores(spec)};
  }
}

}  // namespace parabench::results
