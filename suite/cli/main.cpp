// parabench: the front program.

#include <malloc.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "base/called.h"
#include "base/lack.h"
#include "suite/cli/command_line.h"
#include "suite/launch/workplace.h"

namespace parabench::suite {
namespace {

ExitCode run_program(const std::vector<std::string>& argv) {
  Progress progress(std::cerr, stderr_redraws());
  try {
    return parse_command_line({argv.begin() + 1, argv.end()})({argv, progress, std::cout});
  } catch (const Interrupted&) {
    progress.note("interrupted");
    return ExitCode::interrupted;
  } catch (const Error& error) {
    std::cerr << "parabench: " << error.what() << '\n';
    return error.code();
  } catch (const std::exception& error) {
    const auto lack = lack_behind(error);
    std::cerr << "parabench: " << (lack ? lack->what() : error.what()) << '\n';
    return lack ? lack->code() : ExitCode::case_failed;
  }
}

}  // namespace
}  // namespace parabench::suite

int main(int argc, char** argv) {
  // Plans and their timelines come and go by the megabyte: memory that was given back would be cleared page by page.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  // Started by its path, without the script: that path is what to type.
  constexpr int keep = 0;
  if (std::string_view(argv[0]).find('/') != std::string_view::npos) setenv(parabench::called_variable, argv[0], keep);
  auto code = parabench::suite::run_program({argv, argv + argc});
  if (!std::cout.flush()) {
    std::cerr << "parabench: standard output: could not be written whole; is its disk full?\n";
    if (code == parabench::ExitCode::ok) code = parabench::ExitCode::environment;
  }
  return static_cast<int>(code);
}
