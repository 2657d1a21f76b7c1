// Calibration files: read, and written again.
#include "analytic/calibration/calibration_json.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  const auto calibration = fuzz::value_or_error(
      [&] { return analytic::calibration_from_json(parse_json(fuzz::as_text(data, size), "calibration")); });
  if (!calibration) return 0;
  const nlohmann::json written = analytic::to_json(*calibration);
  fuzz::require(analytic::to_json(analytic::calibration_from_json(written)) == written,
                "a calibration that was written reads as the same calibration");
  return 0;
}
