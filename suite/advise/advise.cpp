#include "suite/advise/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analytic/hardware/hardware.h"
#include "base/called.h"
#include "base/case_id.h"
#include "base/error.h"
#include "base/side_by_side.h"
#include "base/units_text.h"
#include "results/report/pareto.h"
#include "suite/advise/divisions.h"
#include "suite/advise/ranking.h"

namespace parabench::suite {
namespace {

/// How many of the best are simulated: few ranks take milliseconds each.
std::size_t best_of(int np) { return static_cast<std::size_t>(std::clamp(1024 / np, 24, 256)); }

/// With a limit: closed forms leave out some of what a rank holds, so that those that keep it may exceed it.
constexpr std::size_t smallest_simulated = 8;

/// Of the case whose ranks share no states and which is the same in all else.
std::string id_without_zero(Case spec) {
  spec.zero = 0;
  return to_id(spec);
}

/// The `best` of them, those that differ in zero alone as one, of every strategy the best and the best that can run,
/// and the `smallest` that by their closed forms need least memory.
std::vector<Candidate> to_simulate(const std::vector<Candidate>& candidates, std::size_t best, std::size_t smallest) {
  std::vector<const Candidate*> by_size;
  for (const Candidate& one : candidates) by_size.push_back(&one);
  smallest = std::min(smallest, by_size.size());
  std::ranges::partial_sort(by_size, by_size.begin() + static_cast<std::ptrdiff_t>(smallest), {},
                            [](const Candidate* one) { return one->form.peak_bytes; });
  const std::set<const Candidate*> small(by_size.begin(), by_size.begin() + static_cast<std::ptrdiff_t>(smallest));
  std::vector<Candidate> chosen;
  std::set<std::pair<std::string, bool>> strategies;
  std::set<std::string> cases;
  for (const Candidate& one : candidates) {
    const std::string id = id_without_zero(one.chosen.spec);
    const bool is_first = strategies.insert({one.chosen.spec.strategy.name, one.has_executor()}).second;
    if (!is_first && cases.size() >= best && !cases.contains(id) && !small.contains(&one)) continue;
    cases.insert(id);
    chosen.push_back(one);
  }
  return chosen;
}

void simulate(Candidate& candidate, const Knowledge& knowledge) {
  const std::optional<Outlook> outlook = quick_outlook(candidate.chosen, knowledge);
  candidate.is_simulated = outlook.has_value();
  if (!outlook) return;
  candidate.step_time_s = outlook->forecast.predicted.step_time_s;
  candidate.peak_bytes = largest_peak_bytes(outlook->forecast.predicted);
  candidate.cost_source = outlook->forecast.cost_source;
  candidate.calibrated_on = calibrated_on(outlook->forecast.predicted);
}

/// Those of which the calibration lacks something.
std::vector<Candidate> take_unmeasured(std::vector<Candidate>& candidates) {
  // Not of std::ranges: clang 14 compiles no subrange of GCC 12's library.
  const auto rest = std::stable_partition(candidates.begin(), candidates.end(),
                                          [](const Candidate& one) { return one.cost_source != "data-sheet"; });
  std::vector<Candidate> unmeasured(rest, candidates.end());
  candidates.erase(rest, candidates.end());
  return unmeasured;
}

/// Where only states that ranks share make a case too large to be simulated, the case without them tells by how much
/// its closed form is off: so that the two differ by what sharing does.
void correct_by_twins(std::vector<Candidate>& candidates) {
  std::map<std::string, const Candidate*> whole;
  for (const Candidate& one : candidates)
    if (one.is_simulated && one.chosen.spec.zero == 0) whole[one.chosen.id] = &one;
  for (Candidate& one : candidates) {
    if (one.is_simulated || one.chosen.spec.zero == 0) continue;
    const auto twin = whole.find(id_without_zero(one.chosen.spec));
    if (twin == whole.end()) continue;
    const Candidate& other = *twin->second;
    one.step_time_s = std::max(0.0, other.step_time_s + one.form.step_time_s - other.form.step_time_s);
    const double bytes = static_cast<double>(other.peak_bytes) + one.form.peak_bytes - other.form.peak_bytes;
    one.peak_bytes = static_cast<std::int64_t>(std::max(0.0, bytes));
  }
}

/// Among those that train as sequential training does, and among all others.
void mark_front(std::vector<Candidate>& candidates) {
  for (const bool is_sequential : {true, false}) {
    std::vector<results::Cost> costs;
    for (const Candidate& one : candidates)
      costs.push_back(one.is_sequential == is_sequential
                          ? results::Cost{one.step_time_s, static_cast<double>(one.peak_bytes)}
                          : results::Cost{});
    const std::vector<bool> front = results::pareto_front(costs);
    for (std::size_t i = 0; i < candidates.size(); ++i)
      candidates[i].is_on_front = candidates[i].is_on_front || front[i];
  }
}

Error too_large(const Question& question, Bytes limit, const Candidate& smallest, std::size_t left_out) {
  const std::string needed =
      fmt::format("{} bytes or more, which {} is predicted to need", smallest.peak_bytes, smallest.chosen.id);
  const std::string others =
      left_out == 0 ? ""
                    : fmt::format("; of {} more the calibration lacks something, {}", left_out, how_to_calibrate());
  return question.memory
             ? usage_error("--memory", print_bytes(limit), needed, "try more ranks or a smaller batch" + others)
             : usage_error("memory of a GPU", fmt::format("{} bytes", limit.value), needed,
                           "try more ranks, a smaller batch, or --memory for another limit" + others);
}

std::optional<Bytes> limit_of(const Question& question, const analytic::MachineInfo& machine) {
  const analytic::GpuInfo* gpu = question.spec.device == DeviceKind::cuda ? analytic::largest_gpu(machine) : nullptr;
  return question.memory || !gpu ? question.memory : Bytes{gpu->memory_bytes};
}

Advice advise_by(const Question& question, const Knowledge& knowledge) {
  const std::vector<Subject> subjects = divisions_of(look_up(question.spec), knowledge);
  const Candidates candidates = candidates_of(subjects);
  if (candidates.cases.empty()) throw candidates.refusal.value();
  Advice advice{.fitting = {},
                .memory = limit_of(question, knowledge.machine),
                .possible = static_cast<int>(candidates.cases.size()),
                .impossible = candidates.impossible};
  std::vector<Candidate> simulated = to_simulate(ranked(subjects, candidates.cases, knowledge, advice.memory),
                                                 best_of(question.spec.np), advice.memory ? smallest_simulated : 0);
  side_by_side(simulated.size(), [&](std::size_t i) { simulate(simulated[i], knowledge); });
  if (knowledge.calibration) {
    for (const Candidate& one : take_unmeasured(simulated)) advice.left_out.push_back(one.chosen.id);
    if (simulated.empty())
      throw environment_error("calibration", "no candidate of which it has all times", "at least one",
                              how_to_calibrate());
  }
  correct_by_twins(simulated);
  advice.simulated = static_cast<int>(std::ranges::count_if(simulated, &Candidate::is_simulated));
  if (advice.memory) {
    const Candidate& smallest = *std::ranges::min_element(simulated, {}, &Candidate::peak_bytes);
    if (smallest.peak_bytes > advice.memory->value)
      throw too_large(question, *advice.memory, smallest, advice.left_out.size());
    std::erase_if(simulated, [&](const Candidate& one) { return one.peak_bytes > advice.memory->value; });
  }
  std::ranges::stable_sort(simulated, {}, &Candidate::step_time_s);
  mark_front(simulated);
  advice.fitting = std::move(simulated);
  return advice;
}

}  // namespace

std::string how_to_calibrate() { return to_type("calibrate CASE measures the machine that it runs on"); }

Advice advise(const Question& question, const Knowledge& knowledge) {
  if (!knowledge.calibration) return advise_by(question, knowledge);
  std::string gap;
  try {
    return advise_by(question, knowledge);
  } catch (const Error& error) {
    if (error.code() != ExitCode::environment) throw;
    gap = error.what();
  }
  Knowledge unmeasured = knowledge;
  unmeasured.calibration = nullptr;
  Advice advice = advise_by(question, unmeasured);
  advice.gap = gap;
  return advice;
}

std::vector<SelectedCase> best_to_run(const Advice& advice, int count) {
  std::vector<SelectedCase> chosen;
  for (const Candidate& one : advice.fitting)
    if (one.is_sequential && one.has_executor() && std::ssize(chosen) < count) chosen.push_back(one.chosen);
  return chosen;
}

}  // namespace parabench::suite
