#include "parallelism/plan/strategies/check_stages.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/case_text.h"
#include "base/choice.h"
#include "base/error.h"
#include "parallelism/plan/strategies/check_sums.h"
#include "parallelism/plan/strategies/key_hints.h"

namespace parabench::plan {
namespace {

/// The case's own schedule, and what the id says about it.
void check_given(const Case& spec, const models::ModelSpec& model, const GivenSchedule* given) {
  if (!given) {
    throw usage_error("strategy", to_text(spec.strategy), "the schedule that it stands for",
                      "add --schedule FILE, in the CSV format of torch.distributed.pipelining");
  }
  const auto& parameters = spec.strategy.parameters;
  if (!parameters.empty() && parameters.front().second != given->sha) {
    throw usage_error("sha of csv", parameters.front().second, given->sha + ", the hash of the schedule",
                      "give the file that the case was made with, or write csv[sha=" + given->sha + "]");
  }
  const int rows = static_cast<int>(given->ranks.size()), layers = static_cast<int>(model.layers.size());
  const auto expect = [](std::string_view key, int value, int expected, const std::string& what) {
    if (value != expected) {
      throw usage_error(key, std::to_string(value), std::to_string(expected) + ", " + what,
                        "try " + key_value(key, expected));
    }
  };
  expect("np", spec.np, rows * spec.dp,
         "the " + std::to_string(rows) + " ranks of the schedule" +
             (spec.dp > 1 ? " in " + std::to_string(spec.dp) + " copies" : ""));
  expect("micro", spec.micro, given->micro_batches, "the micro-batches of the schedule");
  if (given->stages > layers) {
    throw usage_error("schedule", std::to_string(given->stages) + " stages",
                      "at most " + std::to_string(layers) + ": " + model.name + " can be cut into " +
                          std::to_string(layers) + " layers",
                      "try a deeper model");
  }
}

/// Whether there is a layer for each stage, and the schedule serves the ranks.
bool serves(const Strategy& strategy, const Case& spec, int layers) {
  return strategy.stages(spec) <= layers && !(strategy.refuse && strategy.refuse(strategy.pipe(spec)));
}

/// The largest value of the key below the case's that it could have; 0: none.
int largest_np(Case spec, const Strategy& strategy, int layers) {
  for (int devices = std::min(spec.np / spec.dp, layers); devices > 0; --devices) {
    spec.np = devices * spec.dp;
    if (serves(strategy, spec, layers)) return spec.np;
  }
  return 0;
}
int largest_chunks(Case spec, const Strategy& strategy, int layers) {
  for (spec.chunks = std::min(spec.chunks, layers); spec.chunks > 0; --spec.chunks) {
    if (serves(strategy, spec, layers)) return spec.chunks;
  }
  return 0;
}

[[noreturn]] void refuse_stages(const Case& spec, const models::ModelSpec& model, const Strategy& strategy) {
  const int layers = static_cast<int>(model.layers.size());
  const bool names_widths = !spec.strategy.parameters.empty(), names_chunks = strategy.uses("chunks");
  const int np = names_widths ? 0 : largest_np(spec, strategy, layers);
  const int chunks = names_chunks ? largest_chunks(spec, strategy, layers) : 0;
  std::string keys = key_value("np", spec.np), tries = "a deeper model";
  if (spec.dp > 1) keys += '/' + key_value("dp", spec.dp);
  if (names_chunks) keys += '/' + key_value("chunks", spec.chunks);
  // One rank is no pipeline: advice only where fewer chunks do not help.
  if (np > (chunks > 0 ? 1 : 0)) tries = key_value("np", np) + " or " + tries;
  if (chunks > 0) tries = key_value("chunks", chunks) + " or " + tries;
  const int most = chunks > 0 ? chunks : np;
  throw usage_error(chunks > 0 ? "chunks" : "np", std::to_string(chunks > 0 ? spec.chunks : spec.np),
                    (most > 0 ? "at most " + std::to_string(most) : "fewer stages") + ": " + to_text(spec.strategy) +
                        " with " + keys + " cuts a model into " + std::to_string(strategy.stages(spec)) +
                        " stages, and " + model.name + " has only " + std::to_string(layers) + " layers",
                    "try " + tries);
}

}  // namespace

void check_stages(const Case& spec, const models::ModelSpec& model, const Strategy& strategy,
                  const GivenSchedule* given) {
  if (spec.np % spec.dp != 0) {
    throw usage_error("dp", std::to_string(spec.dp), "a divisor of np, " + std::to_string(spec.np),
                      neighbours_hint("dp", spec.dp, divisors_of(spec.np)));
  }
  check_scattered(spec, model, strategy);
  if (spec.zero > 0 && spec.dp == 1 && strategy.schedule.stages != StageOrder::crossed)
    throw usage_error("zero", std::to_string(spec.zero), "dp above 1 beside it: copies of a stage, to share its states",
                      "try dp:2, or leave zero out");
  if (strategy.from_file) return check_given(spec, model, given);
  if (strategy.stages(spec) > static_cast<int>(model.layers.size())) refuse_stages(spec, model, strategy);
  // What a schedule refuses, it refuses before the batch is looked at.
  const auto refused = strategy.refuse ? strategy.refuse(strategy.pipe(spec)) : std::nullopt;
  if (refused) throw *refused;
}

}  // namespace parabench::plan
