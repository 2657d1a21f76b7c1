// A model of time without one of its terms.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "analytic/costs/time_model.h"
#include "base/enum_text.h"

namespace parabench::analytic {

enum class AblatedTerm {
  sharing,      ///< of cores and of memory: every rank takes the time that it takes alone, whatever runs beside it.
                ///< Links stay shared
  memory,       ///< of the host, that passes share: beside each other these lose their share of the cores alone
  messages,     ///< between ranks: they take no time, and still make one rank wait for another
  collectives,  ///< likewise
  latency,      ///< of messages and collectives, whose bytes take the time that they took
  updates,      ///< of weights, and what else is done with states between passes
  gradients,    ///< that a pass copies or adds up
  overhead,     ///< of the executor, and of launches
  jitter,       ///< of ranks, which all take the time that they take in the mean
  beside,       ///< what exchanges and computing do to each other beyond their equal parts of the cores
  loading,      ///< of samples, which are there when a step begins
};
constexpr std::array<std::string_view, 11> names_of(AblatedTerm) {
  return {"sharing",   "memory",   "messages", "collectives", "latency", "updates",
          "gradients", "overhead", "jitter",   "beside",      "loading"};
}

/// The times of `base`, which outlives it, as if the term did not exist: what a prediction errs more without it is what
/// it is good for.
std::unique_ptr<const TimeModel> without(AblatedTerm term, const TimeModel& base);

}  // namespace parabench::analytic
