#include "results/training_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/counted.h"
#include "results/baseline.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

/// How many of a step's samples were trained on where servers do without some gradients; else empty.
std::string taken_part(const Record& record) {
  double taken = 0;
  int workers = 0;
  for (const RankMeasured& rank : record.measured->ranks) {
    taken += rank.steps ? rank.steps->taken : 0;
    workers += rank.steps.has_value();
  }
  if (workers == 0) return "";
  return fmt::format(", {:.4g} of which updates took", record.parameters.batch * taken / workers);
}

}  // namespace

std::string training_note(const Record& record, std::span<const Record> records) {
  if (!trains_otherwise(record) || !record.measured) return "";
  const Case& spec = record.parameters;
  const auto is_beside = [&](const Record& other) {
    return is_reference(other) && same_training(other.parameters, spec) && other.parameters.batch == spec.batch;
  };
  const std::vector<double>& losses = record.measured->losses;
  const auto beside = std::ranges::find_if(records, is_beside);
  std::size_t steps = losses.size();
  if (beside != records.end()) steps = std::min(steps, beside->measured->losses.size());
  if (steps == 0) return "";
  std::string note = fmt::format("loss {:.4g} after {} of {}{}", losses[steps - 1], counted(steps, "step"),
                                 counted(spec.batch, "sample"), taken_part(record));
  if (beside != records.end())
    note += fmt::format(", of sequential training {:.4g}", beside->measured->losses[steps - 1]);
  return note;
}

}  // namespace parabench::results
