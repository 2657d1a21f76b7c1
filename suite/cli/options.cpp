#include "suite/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <vector>

#include "base/called.h"
#include "base/error.h"
#include "suite/cases/sets.h"

namespace parabench::suite {
namespace {

const RunOption& option_of_run(std::string_view name) {
  return *std::ranges::find(run_options(), name, &RunOption::name);
}

/// `read` takes the text, "on" of a switch; `usual` is shown as the default.
void add_option(CLI::App& app, const RunOption& option, const std::function<void(const std::string&)>& read,
                const std::string& usual) {
  const std::string name(option.name), help(option.help);
  if (option.value.empty()) {
    app.add_flag_callback(
        name, [read] { read("on"); }, help);
    return;
  }
  app.add_option_function<std::string>(name, read, help)->type_name(std::string(option.value))->default_str(usual);
}

/// An option of run for a command that keeps its value in `field`, a part of what run has.
template <class Field, class Member>
void add_part(CLI::App& app, const RunOption& option, Field& field, Member member) {
  RunOptions usual;
  usual.*member = field;
  const auto read = [&option, &field, member](const std::string& text) {
    RunOptions all;
    all.*member = field;
    option.read(all, text);
    field = all.*member;
  };
  add_option(app, option, read, option.value.empty() ? "" : option.text(usual));
}

}  // namespace

void add_integer(CLI::App& app, const std::string& option, int& target, int least, const std::string& help) {
  const int usual = target > 0 ? target : std::max(least, 2);
  app.add_option_function<std::string>(
         option,
         [&target, option, least, hint = fmt::format("try {} {}", option, usual)](const std::string& text) {
           target = read_integer(option, text, least, hint);
         },
         help)
      ->type_name("N")
      ->default_str(std::to_string(target));
}

void add_schedule(CLI::App& app, std::string& target) {
  app.add_option("--schedule", target, "The schedule of strategy csv: a row of actions per rank, as torch writes them")
      ->type_name("FILE");
}

void add_filter(CLI::App& app, Selection& selection) {
  app.add_option("--filter", selection.filter, "A case id, or a regular expression searched in the ids")
      ->type_name("RE");
}

void add_selection(CLI::App& app, Selection& selection, bool where) {
  app.add_option("CASE", selection.cases, "Case ids: model/dataset/strategy/np:N/batch:B[/key:value]...")
      ->type_name("");
  std::vector<std::string_view> sets;
  for (const CaseSet& set : case_sets()) sets.push_back(set.name);
  app.add_option("--set", selection.set, "All cases of a set; " + to_type("list --sets shows them"))
      ->type_name(fmt::format("{}", fmt::join(sets, "|")));
  add_filter(app, selection);
  if (where) {
    app.add_option("--where", selection.where, "Comparisons over typed parameters: np<=4,micro=8")->type_name("EXPR");
  }
  add_schedule(app, selection.schedule);
}

void add_run_options(CLI::App& app, RunOptions& target, bool RunOption::*shared) {
  for (const RunOption& option : run_options()) {
    if (shared && !(option.*shared)) continue;
    const auto read = [&option, &target](const std::string& text) { option.read(target, text); };
    add_option(app, option, read, option.value.empty() ? "" : option.text(target));
  }
}

void take_benchmark_flags(RunOptions& options, const std::vector<std::string>& flags, const CLI::App& app) {
  options.benchmark = read_benchmark_flags(flags, [](const char* name) { return std::getenv(name); });
  if (app.get_option("--repetitions")->empty() && options.benchmark.repetitions)
    options.stopping.repetitions = *options.benchmark.repetitions;
  if (options.benchmark.interleave) options.interleave = options.shuffle = true;
}

void add_calibration(CLI::App& app, std::string& path) {
  add_part(app, option_of_run("--calibration"), path, &RunOptions::calibration);
}

void add_hardware(CLI::App& app, std::string& hardware, const std::string& help) {
  const auto read = [&hardware](const std::string& text) {
    if (text.empty())
      throw usage_error("--hardware", text, "a file, or the name of a shipped data sheet", "leave it out, or name one");
    hardware = text;
  };
  app.add_option_function<std::string>("--hardware", read, help)->type_name("FILE|NAME");
}

void add_hosts(CLI::App& app, int& hosts, bool by_hardware) {
  add_integer(app, "--hosts", hosts, 1,
              fmt::format("Hosts among which consecutive ranks are divided evenly: hosts like this one, from a "
                          "calibration of ranks that lay so{}",
                          by_hardware ? ", or those of --hardware" : "") +
                  "; default: one, or as many as ranks fill");
  app.get_option("--hosts")->default_str("");
}

void add_emulation(CLI::App& app, analytic::EmulatedCosts& emulated) {
  add_part(app, option_of_run("--emulate"), emulated, &RunOptions::emulated);
}

void add_launches(CLI::App& app, LaunchOptions& target, bool RunOption::*shared) {
  for (const RunOption& option : run_options())
    if (option.*shared) add_part(app, option, target, &RunOptions::launches);
}

}  // namespace parabench::suite
