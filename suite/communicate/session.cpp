#include "suite/communicate/session.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/case_text.h"
#include "base/counted.h"
#include "base/units_text.h"
#include "results/exchange_table.h"
#include "suite/communicate/exchange_launches.h"
#include "suite/communicate/exchange_rows.h"
#include "suite/launch/placements.h"
#include "suite/machine/provenance.h"
#include "suite/run/benchmark_report.h"
#include "suite/run/dry_run.h"
#include "suite/run/preflight.h"
#include "suite/run/prepare.h"

namespace parabench::suite {
namespace {

using Rows = std::vector<results::ExchangeRecord>;

/// Leaves what --benchmark_filter selects.
void filter(Rows& rows, const CommunicateOptions& options) {
  const BenchmarkFlags& flags = options.run.benchmark;
  std::erase_if(rows, [&](const auto& row) { return !selects(flags, row.id, options.iterations); });
  if (!rows.empty()) return;
  throw Error(ExitCode::nothing_matched, "--benchmark_filter", flags.filter, "to match at least one exchange",
              "add --benchmark_list_tests to see the names");
}

/// All ranks of a host hold the largest buffer, messages twice.
void require_memory(const Rows& rows, const Launcher& launcher, const analytic::MachineInfo& machine) {
  if (!stays_on_this_host(launcher) || machine.memory_bytes == 0) return;
  for (const results::ExchangeRecord& row : rows) {
    const int buffers = row.setting.np * (is_message(row.exchange.kind) ? 2 : 1);
    const std::int64_t most = machine.memory_bytes / buffers;
    if (row.exchange.bytes <= most) continue;
    throw usage_error(
        "--sizes", print_bytes(Bytes(row.exchange.bytes)),
        fmt::format("at most {}: {} have {} buffers on this host of {}", human_bytes(static_cast<double>(most)), row.id,
                    buffers, human_bytes(static_cast<double>(machine.memory_bytes))),
        "try --sizes 1KiB:64MiB:4");
  }
}

/// What no launch could do, before any rank starts.
void require_launches(const CommunicateOptions& options, const Launcher& launcher,
                      const protocol::Offer& capabilities) {
  const Case spec = case_of(ExchangeSetting{.np = options.np, .comm = options.comm});
  const std::string missing =
      missing_capability(spec, {.capabilities = capabilities, .one_host = stays_on_this_host(launcher)});
  if (!missing.empty()) throw environment_error("--comm", to_text(options.comm), "one that is on offer here", missing);
  check_launch(spec, launcher, capabilities);
}

/// As a shell script that makes the files and starts every launch by hand, in the current folder.
ExitCode print_commands(const Rows& rows, CommunicateOptions options, Progress& progress, std::ostream& out) {
  const auto program = find_rank_program();
  const protocol::Offer capabilities = assumed_capabilities(known_machine(), program);
  const LaunchHost host = this_host();
  LaunchOptions& launches = options.run.launches;
  settle_launcher(launches, host.allocation, progress);
  launches.launcher = usable_launcher(launches.launcher, capabilities);
  if (program) require_launches(options, launches.launcher, capabilities);
  for (const auto& row : rows)
    if (row.status == results::Status::skipped) fmt::print(out, "# {} skipped: {}\n", row.id, row.reason);
  int number = 0;
  for (const ExchangeLaunch& launch : exchange_launches(rows, options)) {
    const std::string file = fmt::format("work-{}.json", ++number);
    fmt::print(out, "{} > {}\n", shell_line({"echo", protocol::to_json(launch.work).dump()}), file);
    LaunchRequest request;
    request.phase = protocol::Phase::communicate;
    request.exchanges = &launch.work;
    request.program = program.value_or(rank_program_name);
    for (int repetition = 1; repetition <= options.run.stopping.repetitions; ++repetition) {
      const std::string reply = fmt::format("reply-{}-{}", number, repetition);
      fmt::print(out, "mkdir -p {} && {}\n", reply,
                 shell_line(command_line(request, launches.launcher, host, file, reply)));
    }
  }
  note_dry_run(progress, program.has_value());
  return ExitCode::ok;
}

/// The result on stdout, and Google Benchmark's own.
void report(const results::ResultsFile& file, const CommunicateOptions& options, std::ostream& out) {
  const RunOptions& run = options.run;
  report_benchmarks(run.benchmark, benchmark_rows(file.exchanges), options.iterations, run.stopping.repetitions);
  if (run.json == "-") {
    out << results::results_text(file);
  } else if (!run.benchmark.console) {
    out << results::exchange_table(file.exchanges);
  }
}

ExitCode code_of(const Rows& rows, bool interrupted) {
  const auto any = [&](results::Status status) {
    return std::ranges::find(rows, status, &results::ExchangeRecord::status) != rows.end();
  };
  if (interrupted) return ExitCode::interrupted;
  if (any(results::Status::failed)) return ExitCode::case_failed;
  return any(results::Status::skipped) ? ExitCode::environment : ExitCode::ok;
}

/// Leaves out what was never measured because somebody interrupted it.
void drop_unmeasured(Rows& rows, Progress& progress) {
  const std::size_t all = rows.size();
  std::erase_if(rows, [](const auto& row) { return row.status == results::Status::ok && !row.time_s; });
  if (rows.size() < all)
    progress.note(fmt::format("{} of {} did not run", all - rows.size(), counted(all, "exchange")));
}

}  // namespace

ExitCode run_exchanges(const CommunicateOptions& options, const std::vector<std::string>& argv, Progress& progress,
                       std::ostream& out) {
  check_exchanges(options);
  Rows rows = exchange_rows(options);
  filter(rows, options);
  if (options.run.benchmark.list_tests) {
    std::vector<std::string> ids;
    for (const auto& row : rows) ids.push_back(row.id);
    list_benchmarks(options.run.benchmark, ids, options.iterations);
    return ExitCode::ok;
  }
  check_files(options.run);
  if (options.run.dry_run) return print_commands(rows, options, progress, out);

  Workplace workplace(options.run.launches, progress);
  const protocol::Offer capabilities = find_capabilities(workplace);
  const Launcher& launcher = workplace.options.launcher;
  require_launches(options, launcher, capabilities);
  require_memory(rows, launcher, workplace.machine);
  const CalibrationFile calibration = open_calibration(options.run.calibration, workplace.machine, true);
  require_calibration_of(workplace.machine, calibration);
  const Case spec = case_of(rows.front().setting);
  Placement placement;
  if (calibration.content && !stays_on_this_host(launcher_for(spec, launcher)))
    placement = find_placements({options.np}, workplace)[options.np];
  predict(rows, calibration.content ? &*calibration.content : nullptr, placement);
  const bool local = launcher_for(spec, launcher).name == "local";
  note_machine(workplace, options.np, local ? 0 : options.np);

  const bool interrupted = !launch_exchanges(rows, options, workplace);
  drop_unmeasured(rows, progress);
  const ExitCode code = code_of(rows, interrupted);
  results::ResultsFile file = describe_run(workplace, capabilities, calibration, argv);
  if (!workplace.hosts.empty()) file.context.hosts = workplace.hosts;
  file.exchanges = std::move(rows);
  report(file, options, out);
  if (options.run.json.empty() || options.run.json == "-" || file.exchanges.empty()) return code;
  results::write_results(options.run.json, file);
  progress.note("results: " + options.run.json);
  return code;
}

}  // namespace parabench::suite
