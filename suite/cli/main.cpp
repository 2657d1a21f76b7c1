// parabench: the front program.

#include <cstdio>
#include <iostream>

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
  const auto code = parabench::suite::run_program({argv, argv + argc});
  std::cout.flush();
  return static_cast<int>(code);
}
