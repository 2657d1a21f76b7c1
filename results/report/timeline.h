// The operations of one step as a record holds them, for drawing schedules.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace parabench::results {

/// One compute operation: "1F0" is the forward of micro-batch 0 on stage 1. Seconds from the step's begin.
struct Span {
  std::string operation;
  double begin_s = 0, end_s = 0;
};

/// Spans of every rank over the steps first to last, in order of begin.
struct Timeline {
  int first_step = 0, last_step = 0;
  std::vector<std::vector<Span>> ranks;
  double end_s() const;  ///< of the last operation; 0 without any
};

/// Of one record.
struct Timelines {
  std::optional<Timeline> predicted, measured;
};

/// The timelines of every record of a results document, `predicted.timeline` and `measured.timeline`, which are taken
/// out of it, since the records' own schema does not know them. A missing or malformed one is none.
std::vector<Timelines> take_timelines(nlohmann::json& document);

}  // namespace parabench::results
