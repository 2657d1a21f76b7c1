#include "suite/cli/communicate_command.h"

#include <fmt/format.h>

#include "base/case_text.h"
#include "suite/cli/options.h"
#include "suite/communicate/session.h"

namespace parabench::suite {
namespace {

/// Names of E with commas between them.
template <NamedEnum E>
void add_names(CLI::App& app, const std::string& option, std::vector<E>& target, const std::string& help) {
  app.add_option_function<std::string>(
         option, [&target, option](const std::string& text) { target = read_names<E>(option, text); },
         fmt::format("{}: {}", help, fmt::join(enum_names<E>, ", ")))
      ->type_name("LIST")
      ->default_str(std::string(to_text(target.front())));
}

/// One name of E, of which check_exchanges() takes `taken`.
template <NamedEnum E>
void add_word(CLI::App& app, const std::string& option, E& target, const std::string& taken, const std::string& help) {
  app.add_option_function<std::string>(
         option, [&target, option](const std::string& text) { target = parse_enum<E>(option, text); }, help)
      ->type_name(taken)
      ->default_str(std::string(to_text(target)));
}

}  // namespace

void add_options(CLI::App& app, CommunicateOptions& options) {
  add_integer(app, "--np", options.np, 2, "Ranks");
  add_names(app, "--collective", options.kinds, "What they do, with commas");
  add_names(app, "--reduce", options.reduce, "Algorithms of collectives, with commas");
  app.add_option("--sizes", options.sizes,
                 "Bytes of the whole buffer, of messages of one: BEGIN:END:FACTOR, a size, or several with commas")
      ->type_name("SIZES")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--groups", [&options](const std::string& text) { options.groups = read_groups(text); },
         "Ranks of each group, with commas: groups of consecutive ranks are busy at the same time")
      ->type_name("all|LIST")
      ->default_str("all");
  add_word(app, "--precision", options.precision, "fp32|fp64", "Type of the elements");
  add_word(app, "--comm", options.comm, "mpi|threads", "What carries them");
  add_integer(app, "--iterations", options.iterations, 1, "Timed iterations of each per launch");
  add_integer(app, "--warmup", options.warmup, 0, "Iterations before the timed ones");
  add_run_options(app, options.run, &RunOption::of_communicate);
}

void take_benchmark_flags(CommunicateOptions& options, const std::vector<std::string>& flags, const CLI::App& app) {
  take_benchmark_flags(options.run, flags, app);
}

ExitCode time_exchanges(const CommunicateOptions& options, const Start& start) {
  return run_exchanges(options, start.argv, start.progress, start.out);
}

}  // namespace parabench::suite
