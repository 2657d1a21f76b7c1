// Case ids: read, printed, as JSON, checked, and, where they are small, planned.
#include "base/case_id.h"

#include <nlohmann/json.hpp>

#include "base/case_json.h"
#include "base/json_reader.h"
#include "base/json_text.h"
#include "datasets/spec/dataset.h"
#include "models/spec/model.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/validate.h"
#include "tests/fuzz/target.h"

namespace parabench::fuzz {
namespace {

/// The case's model; throws where the case is impossible.
models::ModelSpec checked_model(const Case& spec) {
  const datasets::DatasetSpec dataset = datasets::make_dataset(spec.dataset);
  models::ModelSpec model = models::make_model(spec.model, dataset.sample, dataset.classes, dataset.small_stem);
  models::boundaries(model);
  plan::check_case(spec, model);
  return model;
}

bool is_small(const Case& spec, const models::ModelSpec& model) {
  return spec.np <= 8 && spec.micro <= 16 && model.layers.size() <= 40;
}

void check(const Case& spec) {
  const std::string id = to_id(spec);
  require(parse_case(id) == spec, "an id that was printed reads as the same case");
  const nlohmann::json document = parse_json(parameters_json(spec).dump(), "case");
  require(case_from_json(JsonReader(document, "case")) == spec, "a case written as JSON reads as the same case");
  const auto model = value_or_error([&] { return checked_model(spec); });
  if (!model || !is_small(spec, *model)) return;
  const plan::Profile seconds(std::vector<double>(model->layers.size(), 1.0));
  const auto plan = value_or_error([&] { return plan::make_plan(spec, *model, seconds, 3); });
  if (plan) require(plan::validate(*plan).empty(), "the plan of a case keeps the rules of plans");
}

}  // namespace
}  // namespace parabench::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  if (const auto spec = fuzz::value_or_error([&] { return parse_case(fuzz::as_text(data, size)); })) fuzz::check(*spec);
  return 0;
}
