#include "suite/run/trace.h"

#include <nlohmann/json.hpp>

#include "analytic/simulate/simulate.h"
#include "base/case_id.h"
#include "base/error.h"
#include "base/file.h"
#include "parallelism/plan/formats/print_trace.h"

namespace parabench::suite {

void add_prediction(const std::filesystem::path& trace, const Subject& subject, const Forecast& forecast,
                    const Knowledge& knowledge, int steps) {
  nlohmann::json document = read_json(trace);
  if (!document.is_object() || !document.contains("traceEvents") || !document["traceEvents"].is_array())
    throw usage_error("trace", trace.string(), "a trace of parabench-rank", "is it of the same build?");
  const auto [time, memory] = make_costs(subject, knowledge, forecast.cost_source);
  const plan::Plan window = plan::unroll(forecast.plan, steps);
  const plan::Timeline timeline = analytic::simulate(window, *time);
  nlohmann::json predicted = plan::to_trace(window, timeline, "predicted rank", subject.spec.np);
  for (nlohmann::json& event : predicted["traceEvents"]) document["traceEvents"].push_back(std::move(event));
  document["otherData"] = {{"case", to_id(subject.spec)}, {"costs", forecast.cost_source}};
  write_atomically(trace, document.dump() + "\n");
}

}  // namespace parabench::suite
