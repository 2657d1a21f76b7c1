#include "suite/run/listing.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "suite/protocol/command.h"

namespace parabench::suite {
namespace {

constexpr unsigned most_threads = 4;  // a listing is no reason to fill a shared login node

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

/// Calls `work` with 0, 1, ... count - 1 on several threads, and throws the exception of the lowest.
template <class Work>
void side_by_side(std::size_t count, Work work) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t threads = std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
    try {
      for (std::size_t t = 1; t < std::min(threads, count); ++t) helpers.emplace_back(run);
    } catch (const std::system_error&) {
      // No room for another thread: those that there are do all of it.
    }
    run();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
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
