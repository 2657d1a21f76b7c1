#include "suite/run/listing.h"

#include <algorithm>

#include "base/error.h"
#include "base/side_by_side.h"
#include "suite/protocol/command.h"

namespace parabench::suite {
namespace {

ListedForecast in_short(const Forecast& forecast) {
  ListedForecast line{.step_time_s = forecast.predicted.step_time_s,
                      .all_bytes = total_bytes(forecast.predicted),
                      .cost_source = forecast.cost_source};
  for (const RankPredicted& rank : forecast.predicted.ranks)
    line.rank_bytes = std::max(line.rank_bytes, rank.peak_memory.total_counted());
  return line;
}

Listed line_of(const SelectedCase& chosen, const Knowledge& knowledge) {
  Listed line;
  try {
    const Subject subject = look_up(chosen);
    line.model_parameters = models::parameter_count(subject.model);
    line.forecast = in_short(make_forecast(subject, knowledge, protocol::default_warmup, protocol::default_steps));
  } catch (const Error& error) {
    if (chosen.named) throw;
    line.impossible = error.what();
  }
  return line;
}

}  // namespace

std::vector<Listed> listed(const std::vector<SelectedCase>& cases, const Knowledge& knowledge, ListedById& known) {
  std::vector<Listed> lines(cases.size());
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto found = cases[i].named ? known.end() : known.find(cases[i].id);
    if (found == known.end()) {
      unknown.push_back(i);
    } else {
      lines[i] = found->second;
    }
  }
  side_by_side(unknown.size(), [&](std::size_t u) { lines[unknown[u]] = line_of(cases[unknown[u]], knowledge); });
  for (const std::size_t i : unknown)
    if (!cases[i].named) known.emplace(cases[i].id, lines[i]);
  return lines;
}

}  // namespace parabench::suite
