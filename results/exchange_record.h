// One timed collective or message of a results file, as data. SI units in names; a missing value becomes null.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/canary.h"
#include "base/exchange.h"
#include "base/json_reader.h"
#include "results/record.h"

namespace parabench::results {

/// Order statistics over all samples of all launches.
struct ExchangeTime {
  std::vector<std::vector<double>> samples;  ///< [launch][iteration], warm-up left out; of the slowest rank
  double median = 0, p25 = 0, p75 = 0;
  bool operator==(const ExchangeTime&) const = default;
};
/// Throws std::invalid_argument where there is no sample.
ExchangeTime exchange_time(std::vector<std::vector<double>> samples);

struct ExchangeRecord {
  std::string id;  ///< exchange_id()
  ExchangeSetting setting;
  Exchange exchange;
  Status status = Status::ok;
  std::string reason;        ///< why it was skipped or failed; "" becomes null
  std::string algorithm;     ///< what carried it out: "window", "ring", "library", ...; "" where nothing did
  std::string mpi_settings;  ///< comm::mpi_settings(); "": without MPI, where nothing was timed, or an older file
  std::optional<ExchangeTime> time_s;
  std::vector<Canary> canaries;  ///< of each launch of time_s; none in files before schema 1.17
  std::optional<double> predicted_time_s;
  std::string prediction;  ///< where predicted_time_s comes from, or why there is none
  std::string reproduce;   ///< the command that measures it again
  bool operator==(const ExchangeRecord&) const = default;
};

/// Of the median: bytes / seconds, and what the slowest link has to carry (base/exchange.h). nullopt without a time.
std::optional<double> algorithm_bandwidth(const ExchangeRecord& record);
std::optional<double> bus_bandwidth(const ExchangeRecord& record);
/// (predicted - measured) / measured; nullopt unless there are both.
std::optional<double> time_error(const ExchangeRecord& record);

/// In the shape of definition `exchange` of the schema.
nlohmann::json to_json(const ExchangeRecord& record);
/// Of what fits the schema: bandwidths and error follow from the rest. Throws usage_error for samples that are none.
ExchangeRecord exchange_record_from_json(const JsonReader& reader);

}  // namespace parabench::results
