#include "suite/communicate/exchange_rows.h"

#include <fmt/format.h>

#include <array>

#include "analytic/costs/curve_times.h"
#include "base/case_text.h"
#include "base/error.h"
#include "base/units_text.h"
#include "parallelism/plan/strategies/check_sums.h"
#include "suite/launch/launcher.h"

namespace parabench::suite {
namespace {

/// The command that measures a row again.
std::string command_of(const results::ExchangeRecord& row, const CommunicateOptions& options) {
  const ExchangeSetting& setting = row.setting;
  const CommunicateOptions usual;
  std::vector<std::string> words = {"parabench",    "communicate",
                                    "--np",         std::to_string(setting.np),
                                    "--collective", std::string(to_text(row.exchange.kind)),
                                    "--sizes",      print_bytes(Bytes(row.exchange.bytes)),
                                    "--iterations", std::to_string(options.iterations),
                                    "--warmup",     std::to_string(options.warmup)};
  const auto add = [&words](std::string_view option, std::string_view value) {
    words.insert(words.end(), {std::string(option), std::string(value)});
  };
  if (!is_message(row.exchange.kind)) add("--reduce", to_text(setting.reduce));
  if (row.exchange.members != setting.np) add("--groups", std::to_string(row.exchange.members));
  if (setting.precision != usual.precision) add("--precision", to_text(setting.precision));
  if (setting.comm != usual.comm) add("--comm", to_text(setting.comm));
  for (const RunOption& option : run_options())
    if (option.of_communicate && option.repeated != Repeated::never) add_if_given(words, option, options.run);
  return shell_line(words);
}

/// Why the communicator has no such algorithm; "" where it does.
std::string obstacle(const ExchangeSetting& setting) {
  try {
    plan::check_reduce(case_of(setting));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Whether a calibration has curves of their own for them.
bool is_of_shares(ExchangeKind kind) {
  return kind == ExchangeKind::reduce_scatter || kind == ExchangeKind::all_gather;
}

/// What measures the curve that a prediction wants: with messages the model does not matter.
std::string calibrating_command(const results::ExchangeRecord& row) {
  const ExchangeSetting& setting = row.setting;
  const bool message = is_message(row.exchange.kind);
  const char* strategy = message ? "gpipe" : is_of_shares(row.exchange.kind) ? "zero1" : "data-parallel";
  std::string id = fmt::format("resnet18/cifar10-synthetic/{}/np:{}/batch:{}", strategy, row.exchange.members,
                               32 * row.exchange.members);
  if (!message && setting.reduce != ReduceKind::automatic) id += fmt::format("/reduce:{}", to_text(setting.reduce));
  if (setting.comm != CommKind::mpi) id += fmt::format("/comm:{}", to_text(setting.comm));
  return shell_line({"parabench", "calibrate", id});
}

/// `is_halved`: half of another collective's time stands for it.
std::string what(const results::ExchangeRecord& row, const Placement& placement, bool is_halved) {
  const ExchangeSetting& setting = row.setting;
  const GroupShape shape = analytic::exchange_shape(setting, row.exchange, placement);
  if (is_message(row.exchange.kind))
    return fmt::format("messages of comm:{}{}", to_text(setting.comm), shape.hosts > 1 ? " between hosts" : "");
  const ExchangeKind kind =
      is_of_shares(row.exchange.kind) && !is_halved ? row.exchange.kind : ExchangeKind::all_reduce;
  return fmt::format("{}s of comm:{} reduce:{} among {}", to_text(kind), to_text(setting.comm), to_text(setting.reduce),
                     to_text(shape));
}

}  // namespace

std::vector<results::ExchangeRecord> exchange_rows(const CommunicateOptions& options) {
  const std::vector<std::int64_t> sizes = read_sizes(options.sizes, protocol::element_bytes(options.precision));
  const std::vector<int> groups = options.groups.empty() ? std::vector{options.np} : options.groups;
  const std::array no_choice{ReduceKind::automatic};
  std::vector<results::ExchangeRecord> rows;
  for (const ExchangeKind kind : options.kinds) {
    const std::span<const ReduceKind> algorithms =
        is_message(kind) ? std::span<const ReduceKind>(no_choice) : options.reduce;
    for (const int members : groups) {
      for (const std::int64_t bytes : sizes) {
        for (const ReduceKind reduce : algorithms) {
          results::ExchangeRecord row;
          row.setting = {options.np, reduce, options.precision, options.comm};
          row.exchange = {kind, bytes, members};
          row.id = exchange_id(row.setting, row.exchange);
          row.reproduce = command_of(row, options);
          row.reason = obstacle(row.setting);
          if (!row.reason.empty()) row.status = results::Status::skipped;
          rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

void predict(std::span<results::ExchangeRecord> rows, const analytic::Calibration* calibration,
             const Placement& placement) {
  for (results::ExchangeRecord& row : rows) {
    if (row.status == results::Status::skipped) continue;  // nothing could measure its curve
    const std::string wanted = what(row, placement, false);
    if (!calibration) {
      row.prediction =
          fmt::format("this machine was never calibrated; {} measures {}", calibrating_command(row), wanted);
      continue;
    }
    try {
      row.predicted_time_s = analytic::exchange_seconds(*calibration, row.setting, row.exchange, placement);
      const auto [curve, is_halved] = analytic::exchange_curve(*calibration, row.setting, row.exchange, placement);
      row.prediction = fmt::format("{}from {}, calibrated up to {}, beyond by their last rate",
                                   is_halved ? "half of the time, " : "", what(row, placement, is_halved),
                                   print_bytes(Bytes(curve.back().bytes)));
      if (is_halved && is_of_shares(row.exchange.kind))
        row.prediction += fmt::format("; {} measures {}", calibrating_command(row), wanted);
    } catch (const Error&) {
      row.prediction = fmt::format("the calibration lacks {}; {} measures them", wanted, calibrating_command(row));
    }
  }
}

void take_timings(std::span<results::ExchangeRecord> rows, std::span<const std::size_t> indices,
                  const protocol::ExchangeTimings& timings, int iterations) {
  if (timings.exchanges.size() != indices.size()) {
    throw usage_error("reply", fmt::format("{} exchanges", timings.exchanges.size()),
                      fmt::format("the {} that were asked for", indices.size()));
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const protocol::ExchangeTiming& timing = timings.exchanges[i];
    results::ExchangeRecord& row = rows[indices[i]];
    row.algorithm = timing.algorithm;
    row.mpi_settings = timings.mpi_settings;
    if (!timing.wrong.empty()) {
      row.status = results::Status::failed;
      row.reason = fmt::format("a wrong value: {}", timing.wrong);
      row.time_s.reset();
      row.canaries.clear();
      continue;
    }
    if (std::ssize(timing.seconds) != iterations) {
      throw usage_error("reply", fmt::format("{} iterations", timing.seconds.size()),
                        fmt::format("the {} that were asked for", iterations));
    }
    std::vector<std::vector<double>> samples;
    if (row.time_s) samples = std::move(row.time_s->samples);
    samples.push_back(timing.seconds);
    row.time_s = results::exchange_time(std::move(samples));
    if (timings.canary) row.canaries.push_back(*timings.canary);
  }
}

}  // namespace parabench::suite
