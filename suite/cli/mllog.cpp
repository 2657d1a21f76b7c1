#include "suite/cli/mllog.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/case_text.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/strategies/peer.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "results/main_numbers.h"
#include "results/summary.h"

namespace parabench::suite {
namespace {

using nlohmann::ordered_json;

/// Of "2026-01-02T03:04:05Z", the form that the schema prescribes, in milliseconds since 1970.
std::int64_t milliseconds(const std::string& date) {
  int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;
  std::sscanf(date.c_str(), "%d-%d-%dT%d:%d:%dZ", &year, &month, &day, &hour, &minute, &second);
  using namespace std::chrono;
  const sys_days days = std::chrono::year(year) / std::chrono::month(static_cast<unsigned>(month)) /
                        std::chrono::day(static_cast<unsigned>(day));
  return duration_cast<std::chrono::milliseconds>(days.time_since_epoch() + hours(hour) + minutes(minute) +
                                                  seconds(second))
      .count();
}

struct Log {
  const std::string& path;
  std::string text;

  void write(std::int64_t time_ms, std::string_view type, std::string_view key, ordered_json value,
             const std::string& id, const ordered_json& more = ordered_json::object()) {
    ordered_json metadata = {{"file", path}, {"lineno", 0}, {"case", id}};
    metadata.update(more);
    const ordered_json line = {{"namespace", ""}, {"time_ms", time_ms},        {"event_type", type},
                               {"key", key},      {"value", std::move(value)}, {"metadata", metadata}};
    text += ":::MLLOG " + line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  }
};

/// How a case is cut, by MLPerf's names and their neighbours.
ordered_json layout(const results::Record& record) {
  const Case spec = plan::is_peer(record.parameters) ? plan::counterpart(record.parameters) : record.parameters;
  const plan::Strategy& strategy = plan::find_strategy(spec.strategy.name);
  const int pieces = strategy.uses("micro") ? spec.micro : 1;
  ordered_json out = {{"gradient_accumulation_steps", pieces}, {"tensor_parallelism", 1}};
  bool equal = true;
  if (record.plan)
    for (const int ranks : record.plan->replicas) equal = equal && ranks == record.plan->replicas.front();
  if (strategy.ranks == plan::RankUse::stages && !equal) {
    out["pipeline_parallelism"] = record.plan->partition.size();
    return out;
  }
  const bool copied = strategy.ranks == plan::RankUse::replicas || strategy.ranks == plan::RankUse::workers;
  const int copies = copied ? strategy.pieces(spec) : spec.dp;
  out["pipeline_parallelism"] = copied ? 1 : spec.np / copies;
  const bool served = strategy.ranks == plan::RankUse::workers;
  out["data_parallelism"] = served ? spec.np - plan::serving(spec).servers : copies;
  if (spec.batch % (pieces * copies) == 0) out["micro_batch_size"] = spec.batch / (pieces * copies);
  return out;
}

void write_record(const results::Record& record, std::int64_t start_ms, Log& log) {
  const Case& spec = record.parameters;
  const auto point = [&](std::string_view key, ordered_json value) {
    log.write(start_ms, "POINT_IN_TIME", key, std::move(value), record.id);
  };
  point("submission_benchmark", spec.model.name);
  point("global_batch_size", spec.batch);
  const ordered_json cut = layout(record);
  for (const auto& [key, value] : cut.items()) point(key, value);
  point("seed", spec.seed);
  point("opt_name", spec.optimizer.name);
  point("opt_base_learning_rate", spec.lr);
  point("opt_weight_decay", spec.weight_decay);
  point("num_warmup_steps", record.measured->warmup_steps);
  double seconds = 0;
  std::size_t steps = 0;
  for (const auto& launch : record.measured->step_time_s.samples) {
    steps += launch.size();
    for (const double step : launch) seconds += std::isfinite(step) ? step : 0;
  }
  point("train_samples", steps * static_cast<std::size_t>(spec.batch));
  log.write(start_ms, "INTERVAL_START", "run_start", nullptr, record.id);
  const auto stop_ms = start_ms + static_cast<std::int64_t>(1000 * seconds);
  for (const results::MainNumber& number : results::main_numbers()) {
    if (const auto value = number.of(record); value && number.name != "warmup_steps")
      log.write(stop_ms, "POINT_IN_TIME", results::full_name(number), *value, record.id);
  }
  log.write(stop_ms, "INTERVAL_END", "run_stop", nullptr, record.id, {{"status", "success"}});
}

}  // namespace

std::string results_mllog(const results::ResultsFile& file, const std::string& path) {
  Log log{path, ""};
  const std::int64_t start_ms = milliseconds(file.context.date);
  for (const results::Record& record : file.records)
    if (record.measured && results::counts(record)) write_record(record, start_ms, log);
  return log.text;
}

}  // namespace parabench::suite
