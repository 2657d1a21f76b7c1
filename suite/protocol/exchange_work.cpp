#include "suite/protocol/exchange_work.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/canary_json.h"
#include "base/case_text.h"
#include "base/hash.h"
#include "parallelism/plan/state/state_layout.h"

namespace parabench::protocol {
namespace {

using nlohmann::json;

Exchange exchange_from_json(const JsonReader& reader, const ExchangeSetting& setting) {
  reader.allow_only({"kind", "bytes", "members"});
  const int element = element_bytes(setting.precision);
  const Exchange exchange{reader.get<ExchangeKind>("kind"), reader.get_at_least<std::int64_t>("bytes", element),
                          reader.get_at_least("members", 2)};
  if (exchange.bytes % element != 0) throw reader.at("bytes").error(fmt::format("a multiple of {}", element));
  if (setting.np % exchange.members != 0) throw reader.at("members").error(fmt::format("a divisor of {}", setting.np));
  return exchange;
}

}  // namespace

json to_json(const ExchangeWork& work) {
  json exchanges = json::array();
  for (const Exchange& one : work.exchanges)
    exchanges.push_back({{"kind", to_text(one.kind)}, {"bytes", one.bytes}, {"members", one.members}});
  return {{"np", work.setting.np},
          {"reduce", to_text(work.setting.reduce)},
          {"precision", to_text(work.setting.precision)},
          {"comm", to_text(work.setting.comm)},
          {"iterations", work.iterations},
          {"warmup", work.warmup},
          {"exchanges", std::move(exchanges)}};
}

ExchangeWork exchange_work_from_json(const JsonReader& reader) {
  reader.allow_only({"np", "reduce", "precision", "comm", "iterations", "warmup", "exchanges"});
  ExchangeWork work;
  work.setting = {.np = reader.get_at_least("np", 2),
                  .reduce = reader.get<ReduceKind>("reduce"),
                  .precision = reader.get<Precision>("precision"),
                  .comm = reader.get<CommKind>("comm")};
  if (work.setting.precision != Precision::fp32 && work.setting.precision != Precision::fp64)
    throw reader.at("precision").error("fp32 or fp64");
  if (work.setting.comm == CommKind::nccl) throw reader.at("comm").error("mpi or threads");
  work.iterations = reader.get_at_least("iterations", 1);
  work.warmup = reader.get_at_least("warmup", 0);
  for (const JsonReader& one : reader.at("exchanges").items())
    work.exchanges.push_back(exchange_from_json(one, work.setting));
  return work;
}

std::string hash(const ExchangeWork& work) { return hex16(fnv1a64(to_json(work).dump())); }

int element_bytes(Precision precision) { return plan::parameter_bytes(precision); }

json to_json(const ExchangeTimings& timings) {
  json exchanges = json::array();
  for (const ExchangeTiming& one : timings.exchanges)
    exchanges.push_back({{"algorithm", one.algorithm}, {"seconds", one.seconds}, {"wrong", one.wrong}});
  return {{"exchanges", std::move(exchanges)},
          {"mpi_settings", timings.mpi_settings},
          {"canary", timings.canary ? parabench::to_json(*timings.canary) : json()}};
}

ExchangeTimings exchange_timings_from_json(const JsonReader& reader) {
  ExchangeTimings timings;
  timings.mpi_settings = reader.get<std::string>("mpi_settings");
  for (const JsonReader& one : reader.at("exchanges").items()) {
    ExchangeTiming timing{one.get<std::string>("algorithm"), {}, one.get<std::string>("wrong")};
    for (const JsonReader& seconds : one.at("seconds").items()) {
      timing.seconds.push_back(seconds.as<double>());
      if (!(timing.seconds.back() > 0)) throw seconds.error("a time above 0");
    }
    timings.exchanges.push_back(std::move(timing));
  }
  if (reader.has("canary")) timings.canary = canary_from_json(reader.at("canary"));
  return timings;
}

}  // namespace parabench::protocol
