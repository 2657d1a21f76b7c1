#include "suite/cli/report_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <sstream>

#include "base/counted.h"
#include "base/file.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "results/report/embedded.h"
#include "results/report/write.h"
#include "suite/launch/launch.h"
#include "suite/launch/process.h"
#include "suite/launch/workplace.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

/// Of plots/figures: matplotlib is not there.
constexpr int lacks_matplotlib = 4;
constexpr double most_seconds = 600;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Draws the figures of `folder` by the first Python that has matplotlib: that of the PATH may be another one than the
/// distribution's, which its packages serve. Returns their names, nullopt where there was no such Python; throws where
/// drawing fails.
std::optional<std::vector<std::string>> draw_figures(const fs::path& folder) {
  const ScratchFolder scratch;
  const fs::path program = scratch.path() / "figures", output = scratch.path() / "output",
                 errors = scratch.path() / "errors";
  fs::create_directory(program);
  for (const results::EmbeddedFile& file : results::figures_program) write_atomically(program / file.name, file.text);
  Signals signals;
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (find_program(python).empty()) continue;
    const ProcessEnd end = run_process({.command = {python, program.string(), fs::absolute(folder).string()},
                                        .output = output,
                                        .errors = errors,
                                        .mark = program.string(),
                                        .timeout_s = most_seconds},
                                       signals);
    if (end.how == ProcessEnd::How::interrupted) throw Interrupted();
    if (end.how == ProcessEnd::How::exited && end.code == lacks_matplotlib) continue;
    if (end.how == ProcessEnd::How::exited && end.code == 0) return lines_of(read_text(output));
    const std::string why = end.how == ProcessEnd::How::timed_out
                                ? fmt::format("python3 was still drawing after {:.0f} s", most_seconds)
                                : read_text(errors);
    throw environment_error("figures", why, "drawings by python3 with matplotlib", "--figures off leaves them out");
  }
  return std::nullopt;
}

}  // namespace

void add_options(CLI::App& app, ReportOptions& options) {
  app.add_option("FILE", options.files, "Results files")->required()->type_name("");
  app.add_option("--out", options.out, "Folder to write into; made where it is not there")
      ->required()
      ->type_name("DIR");
  app.add_option_function<std::string>(
         "--figures",
         [&](const std::string& text) {
           options.figures = index_of_name("--figures", text, std::array<std::string_view, 2>{"off", "on"}) == 1;
         },
         "Draw SVG and PDF figures, too; wants python3 with matplotlib")
      ->type_name("on|off")
      ->default_str("on");
}

ExitCode report_results(const ReportOptions& options, const Start& start) {
  const std::vector<fs::path> paths(options.files.begin(), options.files.end());
  std::vector<std::string_view> order;
  for (const plan::Strategy& strategy : plan::strategies()) order.push_back(strategy.name);
  const results::Report report = results::make_report(results::read_report_files(paths), order);
  if (report.rows.empty()) {
    throw usage_error("report", fmt::format("{}", fmt::join(options.files, " ")), "results with at least one record");
  }
  const fs::path folder = options.out;
  results::write_report(folder, report);
  const auto counting = std::ranges::count(report.rows, true, &results::ReportRow::counts);
  fmt::print(start.out, "{}: {}, {} of them count{}\nbeside it results.csv, table.tex, numbers.tex, figures.json\n",
             (folder / "report.html").string(), counted(report.rows.size(), "record"), counting,
             counting == 1 ? "s" : "");
  for (const std::string& line : results::missing_scalings(report)) start.progress.note(line);
  if (!options.figures) return ExitCode::ok;
  if (const auto names = draw_figures(folder)) {
    if (names->empty()) {
      const std::string_view why = counting == 0 ? "no row counts" : "no row that counts was measured";
      fmt::print(start.out, "no figures: {}\n", why);
    } else {
      fmt::print(start.out, "and the figures as SVG and PDF: {}\n", fmt::join(*names, ", "));
    }
    return ExitCode::ok;
  }
  start.progress.note(
      "no figures: no python3 with matplotlib was found; type apt-get install python3-matplotlib, or --figures off. "
      "Everything else is written");
  return ExitCode::environment;
}

}  // namespace parabench::suite
