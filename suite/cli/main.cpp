// parabench: the front program.

#include <malloc.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
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

/// Plans and their timelines come and go by the megabyte: memory that was given back would be cleared page by page. So
/// it is kept, and taken in pages of 2 MiB where the kernel has them: a plan of 1,024 ranks would fault 15,000 times.
void prepare_heap() {
  constexpr std::size_t first = 128 << 20, page = 2 << 20;
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 2 * first);
  if (void* heap = std::malloc(first)) {
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(heap) + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(begin), first - page, MADV_HUGEPAGE);  // advice: nothing is touched
    std::free(heap);
  }
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

}  // namespace
}  // namespace parabench::suite

int main(int argc, char** argv) {
  parabench::suite::prepare_heap();
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
