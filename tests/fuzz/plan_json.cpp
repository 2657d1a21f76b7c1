// Plan files: read, written again, and validated, which sees every index that leads nowhere.
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "parallelism/plan/formats/print_csv.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/print_text.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/validate.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  nlohmann::json document;
  const auto plan = fuzz::value_or_error([&] {
    document = parse_json(fuzz::as_text(data, size), "plan file");
    return plan::plan_from_json(document);
  });
  if (!plan) return 0;
  fuzz::require(plan::plan_from_json(plan::to_json(*plan)) == *plan, "a plan that was written reads as the same plan");
  fuzz::value_or_error([&] { return plan::durations_from_json(document, *plan); });
  const auto is_valid = fuzz::value_or_error([&] {
    plan::require_valid(*plan);  // its message prints the plan, however wrong
    return true;
  });
  if (!is_valid) return 0;
  fuzz::require(!plan::to_text(*plan).empty(), "a good plan can be printed");
  fuzz::value_or_error([&] { return plan::to_csv(*plan); });
  return 0;
}
