// What a launch of phase communicate is asked, and what it answers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/canary.h"
#include "base/exchange.h"
#include "base/json_reader.h"

namespace parabench::protocol {

struct ExchangeWork {
  ExchangeSetting setting;
  int iterations = 20, warmup = 5;  ///< of each exchange: timed ones, and discarded ones before them
  std::vector<Exchange> exchanges;  ///< in their order
  bool operator==(const ExchangeWork&) const = default;
};

/// The file that ranks are given, and that a launch's reply names by its hash().
nlohmann::json to_json(const ExchangeWork& work);
/// Throws usage_error naming the place, also for members that do not divide np, fewer than two, and for bytes that are
/// not whole elements.
ExchangeWork exchange_work_from_json(const JsonReader& reader);
std::string hash(const ExchangeWork& work);

/// Bytes of an element that is sent and summed. Precondition: fp32 or fp64.
int element_bytes(Precision precision);

/// One exchange of the work.
struct ExchangeTiming {
  std::string algorithm;        ///< what carried it out: "window", "ring", "library", ...
  std::vector<double> seconds;  ///< of each iteration, behind a barrier: the slowest rank's
  std::string wrong;            ///< the first value that was not the expected one; "" where all were right
  bool operator==(const ExchangeTiming&) const = default;
};
struct ExchangeTimings {
  std::vector<ExchangeTiming> exchanges;  ///< in the order of the work
  std::string mpi_settings = {};          ///< comm::mpi_settings(); "" where ranks do not talk through MPI
  std::optional<Canary> canary = {};      ///< of the launch
};

nlohmann::json to_json(const ExchangeTimings& timings);
/// Throws usage_error naming the place.
ExchangeTimings exchange_timings_from_json(const JsonReader& reader);

}  // namespace parabench::protocol
