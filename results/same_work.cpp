#include "results/same_work.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/case_key.h"
#include "base/case_text.h"
#include "base/counted.h"
#include "base/units_text.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

/// "2 x A CPU with 8 cores, B CPU with 4 cores".
std::string each_once(const std::vector<std::string>& things) {
  std::map<std::string, int> numbers;
  for (const std::string& thing : things) ++numbers[thing];
  std::vector<std::string> words;
  for (const auto& [thing, number] : numbers)
    words.push_back(number == 1 ? thing : fmt::format("{} x {}", number, thing));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string machine_text(const Context& context, bool on_gpus) {
  std::vector<std::string> things;
  for (const Host& host : context.hosts)
    things.push_back(fmt::format("{} with {}", host.cpu, counted(host.cores, "core")));
  std::string text = each_once(things);
  if (!on_gpus) return text;
  things.clear();
  for (const HostGpu& gpu : context.gpus)
    things.push_back(fmt::format("{} with {}", gpu.name, human_bytes(static_cast<double>(gpu.memory_bytes))));
  return fmt::format("{}; {}", text, things.empty() ? "no GPU" : each_once(things));
}

std::string build_text(const Program& program) { return fmt::format("{} {}", program.build_type, program.flags); }

/// The keys in which `spec` is not `other`, with its values.
std::string parameters_text(const Case& spec, const Case& other) {
  std::vector<std::string> words;
  for (const CaseKey& key : case_keys()) {
    if (const std::string value = value_text(spec, key); value != value_text(other, key))
      words.push_back(fmt::format("{}:{}", key.name, value.empty() ? "none" : value));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string workload_text(const Case& spec) {
  return fmt::format("{}/{}/batch:{}", to_text(spec.model), to_text(spec.dataset), spec.batch);
}

std::string plan_text(const std::optional<PlanSummary>& plan) {
  if (!plan) return "";
  return fmt::format("{} with {} layers on its stages", plan->hash, fmt::join(plan->partition, "+"));
}

std::string steps_text(const Measured& measured) {
  std::set<std::size_t> lengths;
  for (const auto& launch : measured.step_time_s.samples) lengths.insert(launch.size());
  return fmt::format("{}", fmt::join(lengths, " and "));
}

std::string reference_text(const Record& record, bool with_batch) {
  const Equivalence& equivalence = record.equivalence;
  if (!is_checked(record)) return "";
  if (!with_batch || !equivalence.reference_batch) return equivalence.reference;
  return fmt::format("{} on {}", equivalence.reference,
                     *equivalence.reference_batch == ReferenceBatch::whole ? "whole batches" : "pieces");
}

std::string arithmetic_text(const Measured& measured) {
  if (measured.ranks.empty() || !measured.ranks.front().arithmetic) return "";
  const Arithmetic& arithmetic = *measured.ranks.front().arithmetic;
  const auto name = [](const std::optional<Precision>& precision) { return precision ? to_text(*precision) : "none"; };
  return fmt::format("parameters {}, autocast {}, products {}, convolutions {}", name(arithmetic.parameters),
                     name(arithmetic.autocast), to_text(arithmetic.matmul), to_text(arithmetic.convolution));
}

/// Whose times a row's device took.
std::string emulation_text(const Record& record) {
  if (!is_emulated(record.parameters)) return "no emulated device";
  return record.emulate.empty() ? "the processor's times" : record.emulate;
}

/// Whether a variable says how ranks run; those of one job or one process never agree.
bool is_setting(std::string_view name) {
  constexpr std::array<std::string_view, 8> families = {"OMP_", "OMPI_MCA_", "NCCL_",   "CUDA_",
                                                        "UCX_", "TORCH_",    "MALLOC_", "PARABENCH_"};
  return std::ranges::any_of(families, [name](std::string_view family) { return name.starts_with(family); });
}

std::string commit_text(const Program& program) {
  return fmt::format("{}{}", program.git.substr(0, 12), program.dirty ? ", modified" : "");
}

std::string hosts_text(const Context& context, std::string Host::*field) {
  std::vector<std::string> things;
  for (const Host& host : context.hosts) things.push_back((host.*field).empty() ? "none" : host.*field);
  return each_once(things);
}

}  // namespace

std::vector<WorkDifference> work_differences(const ResultsFile& a, const ResultsFile& b, bool on_gpus) {
  std::vector<WorkDifference> out;
  const auto check = [&out](WorkAspect aspect, std::string in_a, std::string in_b) {
    if (in_a != in_b) out.push_back({aspect, "", std::move(in_a), std::move(in_b)});
  };
  check(WorkAspect::machine, machine_text(a.context, on_gpus), machine_text(b.context, on_gpus));
  check(WorkAspect::build, build_text(a.program), build_text(b.program));
  check(WorkAspect::version, a.program.version, b.program.version);
  return out;
}

std::vector<WorkDifference> work_differences(const Record& a, const Record& b) {
  std::vector<WorkDifference> out;
  const auto check = [&](WorkAspect aspect, std::string in_a, std::string in_b) {
    if (in_a != in_b && !in_a.empty() && !in_b.empty()) out.push_back({aspect, a.id, std::move(in_a), std::move(in_b)});
  };
  const Case &spec_a = a.parameters, &spec_b = b.parameters;
  const bool one_id = a.id == b.id;
  if (one_id) {
    check(WorkAspect::parameters, parameters_text(spec_a, spec_b), parameters_text(spec_b, spec_a));
    check(WorkAspect::plan, plan_text(a.plan), plan_text(b.plan));
  } else {
    check(WorkAspect::workload, workload_text(spec_a), workload_text(spec_b));
  }
  const bool batches = one_id && a.equivalence.reference_batch && b.equivalence.reference_batch;
  check(WorkAspect::reference, reference_text(a, batches), reference_text(b, batches));
  check(WorkAspect::emulate, emulation_text(a), emulation_text(b));
  if (!a.measured || !b.measured) return out;
  check(WorkAspect::steps, steps_text(*a.measured), steps_text(*b.measured));
  check(WorkAspect::warmup, std::to_string(a.measured->warmup_steps), std::to_string(b.measured->warmup_steps));
  if (spec_a.precision == spec_b.precision)
    check(WorkAspect::arithmetic, arithmetic_text(*a.measured), arithmetic_text(*b.measured));
  return out;
}

std::vector<ContextDifference> context_differences(const ResultsFile& a, const ResultsFile& b) {
  std::vector<ContextDifference> out;
  const auto check = [&out](std::string name, std::string in_a, std::string in_b) {
    if (in_a == in_b) return;
    const auto shown = [](std::string text) { return text.empty() ? "none" : text; };
    out.push_back({std::move(name), shown(std::move(in_a)), shown(std::move(in_b))});
  };
  check("commit", commit_text(a.program), commit_text(b.program));
  check("libtorch", a.context.libtorch, b.context.libtorch);
  check("mpi", a.context.mpi, b.context.mpi);
  check("launcher", a.context.launcher, b.context.launcher);
  check("hosts", hosts_text(a.context, &Host::name), hosts_text(b.context, &Host::name));
  check("governor", hosts_text(a.context, &Host::governor), hosts_text(b.context, &Host::governor));
  std::set<std::string> variables;
  for (const ResultsFile* file : {&a, &b})
    for (const auto& [name, value] : file->context.environment)
      if (is_setting(name)) variables.insert(name);
  const auto value_of = [](const ResultsFile& file, const std::string& name) {
    const auto found = file.context.environment.find(name);
    return found == file.context.environment.end() ? "" : found->second;
  };
  for (const std::string& name : variables) check(name, value_of(a, name), value_of(b, name));
  return out;
}

}  // namespace parabench::results
