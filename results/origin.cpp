#include "results/origin.h"

#include <fmt/format.h>

#include <vector>

#include "base/counted.h"

namespace parabench::results {
namespace {

std::string commit(const Program& program) {
  return fmt::format("{} {}{}", program.version, program.git, program.dirty ? " (modified)" : "");
}

/// Precondition: a host.
std::string machine(const Context& context) {
  std::string text = fmt::format("{}, {}", context.hosts.front().cpu, counted(context.hosts.front().cores, "core"));
  for (const HostGpu& gpu : context.gpus) text += ", " + gpu.name;
  return text;
}

}  // namespace

std::optional<OriginDifference> origin_difference(const ResultsFile& a, const ResultsFile& b) {
  std::vector<OriginDifference> aspects = {
      {"version", commit(a.program), commit(b.program)},
      {"build", a.program.build_type + " " + a.program.flags, b.program.build_type + " " + b.program.flags},
      {"MPI", a.context.mpi, b.context.mpi},
      {"LibTorch", a.context.libtorch, b.context.libtorch}};
  if (!a.context.hosts.empty() && !b.context.hosts.empty())
    aspects.push_back({"machine", machine(a.context), machine(b.context)});
  for (const OriginDifference& aspect : aspects)
    if (aspect.first != aspect.second) return aspect;
  return std::nullopt;
}

}  // namespace parabench::results
