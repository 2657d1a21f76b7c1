#include "results/exchange_record.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/canary_json.h"
#include "base/case_text.h"
#include "base/json_null.h"
#include "base/statistics.h"

namespace parabench::results {
namespace {

using nlohmann::json;

json time_json(const std::optional<ExchangeTime>& time) {
  if (!time) return nullptr;
  return {{"samples", time->samples}, {"median", time->median}, {"p25", time->p25}, {"p75", time->p75}};
}

std::optional<ExchangeTime> time_from_json(const JsonReader& reader) {
  if (!reader.has("time_s")) return std::nullopt;
  const JsonReader samples = reader.at("time_s").at("samples");
  try {
    return exchange_time(samples.as<std::vector<std::vector<double>>>());
  } catch (const std::invalid_argument&) {
    throw samples.error("at least one sample");
  }
}

}  // namespace

ExchangeTime exchange_time(std::vector<std::vector<double>> samples) {
  std::vector<double> all;
  for (const std::vector<double>& launch : samples) all.insert(all.end(), launch.begin(), launch.end());
  return {std::move(samples), median(all), quantile(all, 0.25), quantile(all, 0.75)};
}

std::optional<double> algorithm_bandwidth(const ExchangeRecord& record) {
  if (!record.time_s) return std::nullopt;
  return static_cast<double>(record.exchange.bytes) / record.time_s->median;
}

std::optional<double> bus_bandwidth(const ExchangeRecord& record) {
  if (!record.time_s) return std::nullopt;
  const Exchange& one = record.exchange;
  return parabench::bus_bandwidth(one.kind, one.bytes, one.members, record.time_s->median);
}

std::optional<double> time_error(const ExchangeRecord& record) {
  if (!record.time_s || !record.predicted_time_s) return std::nullopt;
  return (*record.predicted_time_s - record.time_s->median) / record.time_s->median;
}

json to_json(const ExchangeRecord& record) {
  return {{"id", record.id},
          {"kind", to_text(record.exchange.kind)},
          {"bytes", record.exchange.bytes},
          {"np", record.setting.np},
          {"group", record.exchange.members},
          {"reduce", to_text(record.setting.reduce)},
          {"precision", to_text(record.setting.precision)},
          {"comm", to_text(record.setting.comm)},
          {"status", to_text(record.status)},
          {"reason", null_if_empty(record.reason)},
          {"algorithm", null_if_empty(record.algorithm)},
          {"mpi_settings", null_if_empty(record.mpi_settings)},
          {"time_s", time_json(record.time_s)},
          {"canary", parabench::to_json(record.canaries)},
          {"algorithm_bandwidth_bytes_per_s", null_if_absent(algorithm_bandwidth(record))},
          {"bus_bandwidth_bytes_per_s", null_if_absent(bus_bandwidth(record))},
          {"predicted_time_s", null_if_absent(record.predicted_time_s)},
          {"prediction", record.prediction},
          {"time_error_relative", null_if_absent(time_error(record))},
          {"reproduce", record.reproduce}};
}

ExchangeRecord exchange_record_from_json(const JsonReader& reader) {
  ExchangeRecord record;
  record.id = reader.get<std::string>("id");
  record.exchange = {reader.get<ExchangeKind>("kind"), reader.get<std::int64_t>("bytes"), reader.get<int>("group")};
  record.setting = {.np = reader.get<int>("np"),
                    .reduce = reader.get<ReduceKind>("reduce"),
                    .precision = reader.get<Precision>("precision"),
                    .comm = reader.get<CommKind>("comm")};
  record.status = reader.get<Status>("status");
  record.reason = reader.find<std::string>("reason").value_or("");
  record.algorithm = reader.find<std::string>("algorithm").value_or("");
  record.mpi_settings = reader.find<std::string>("mpi_settings").value_or("");
  record.time_s = time_from_json(reader);
  record.canaries = canaries_in(reader);
  record.predicted_time_s = reader.find<double>("predicted_time_s");
  record.prediction = reader.get<std::string>("prediction");
  record.reproduce = reader.get<std::string>("reproduce");
  return record;
}

}  // namespace parabench::results
