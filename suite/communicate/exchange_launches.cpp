#include "suite/communicate/exchange_launches.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/case_text.h"
#include "base/error.h"
#include "suite/communicate/exchange_rows.h"

namespace parabench::suite {
namespace {

constexpr double barrier_s = 1e-3, bytes_per_s = 100e6;  // of a slow network
constexpr double memory_bytes_per_s = 500e6;             // written, swept and compared around each iteration

/// What was to be timed is told by each of its rows.
void give_up(std::span<results::ExchangeRecord> rows, const ExchangeLaunch& launch, const LaunchResult& result) {
  for (const std::size_t i : launch.rows) {
    const bool lacks = result.kind == protocol::FailureKind::environment;
    rows[i].status = lacks ? results::Status::skipped : results::Status::failed;
    rows[i].reason = result.reason;
    rows[i].time_s.reset();
    rows[i].canaries.clear();
  }
}

/// A launch that cannot even be started is one that failed.
LaunchResult start(Workplace& workplace, const LaunchRequest& request) {
  try {
    return run(workplace, request);
  } catch (const std::exception& error) {
    LaunchResult result;
    result.reason = error.what();
    return result;
  }
}

/// False where it was interrupted.
bool measure(std::span<results::ExchangeRecord> rows, const ExchangeLaunch& launch, const CommunicateOptions& options,
             Workplace& workplace) {
  LaunchRequest request;
  request.phase = protocol::Phase::communicate;
  request.exchanges = &launch.work;
  request.timeout_s = launch_patience(expected_seconds(launch, rows));
  LaunchResult result = start(workplace, request);
  if (result.interrupted) return false;
  if (result.reply) {
    const std::string& why = result.reply->private_arenas_because;
    if (!why.empty() && launch.work.setting.reduce == ReduceKind::automatic) {
      const std::string note = "ranks exchange by messages, not in memory that they share: " + why;
      workplace.progress.note(note);
      if (std::ranges::find(workplace.notes, note) == workplace.notes.end()) workplace.notes.push_back(note);
    }
    try {
      take_timings(rows, launch.rows, std::get<protocol::ExchangeTimings>(result.reply->answer), options.iterations);
      return true;
    } catch (const Error& error) {
      result.reason = error.what();
    }
  }
  give_up(rows, launch, result);
  workplace.progress.note(result.reason);
  return true;
}

}  // namespace

std::vector<ExchangeLaunch> exchange_launches(std::span<const results::ExchangeRecord> rows,
                                              const CommunicateOptions& options) {
  std::vector<ExchangeLaunch> launches;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status != results::Status::ok) continue;
    auto same = std::ranges::find(launches, rows[i].setting, [](const ExchangeLaunch& l) { return l.work.setting; });
    if (same == launches.end()) {
      launches.push_back({{rows[i].setting, options.iterations, options.warmup, {}}, {}});
      same = std::prev(launches.end());
    }
    same->work.exchanges.push_back(rows[i].exchange);
    same->rows.push_back(i);
  }
  return launches;
}

double expected_seconds(const ExchangeLaunch& launch, std::span<const results::ExchangeRecord> rows) {
  double seconds = 0;
  for (const std::size_t i : launch.rows) {
    const auto bytes = static_cast<double>(rows[i].exchange.bytes);
    const double once = rows[i].predicted_time_s.value_or(2 * bytes / bytes_per_s) + bytes / memory_bytes_per_s;
    seconds += (launch.work.iterations + launch.work.warmup) * (barrier_s + once);
  }
  return launch_seconds(seconds);
}

bool launch_exchanges(std::span<results::ExchangeRecord> rows, const CommunicateOptions& options,
                      Workplace& workplace) {
  const int repetitions = options.run.stopping.repetitions;
  const std::vector<ExchangeLaunch> all = exchange_launches(rows, options);
  double expected = 0;
  for (const ExchangeLaunch& one : all) expected += repetitions * expected_seconds(one, rows);
  workplace.progress.begin(static_cast<int>(all.size()), expected);
  for (int repetition = 1; repetition <= repetitions; ++repetition) {
    // What has failed is not tried again.
    for (const ExchangeLaunch& launch : exchange_launches(rows, options)) {
      const auto number =
          std::ranges::find(all, launch.work.setting, [](const ExchangeLaunch& l) { return l.work.setting; });
      workplace.progress.begin_case(expected_seconds(launch, rows));
      workplace.progress.phase(static_cast<int>(number - all.begin()) + 1,
                               fmt::format("reduce:{}", to_text(launch.work.setting.reduce)),
                               fmt::format("communicate {}/{}", repetition, repetitions));
      if (!measure(rows, launch, options, workplace)) return false;
      workplace.progress.end_case(/*is_typical=*/true);
    }
  }
  return true;
}

}  // namespace parabench::suite
