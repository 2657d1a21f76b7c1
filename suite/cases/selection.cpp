#include "suite/cases/selection.h"

#include <algorithm>

#include "base/called.h"
#include "base/case_id.h"
#include "base/error.h"
#include "base/file.h"
#include "parallelism/plan/strategies/parameters.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "suite/cases/sets.h"
#include "suite/cases/where.h"

namespace parabench::suite {

namespace {

bool stands_for_a_schedule(const Case& spec) {
  const auto found = std::ranges::find(plan::strategies(), spec.strategy.name, &plan::Strategy::name);
  return found != plan::strategies().end() && found->from_file;
}

/// The id names the schedule's hash.
void take_schedule(SelectedCase& chosen, const std::shared_ptr<const plan::GivenSchedule>& given,
                   const std::string& path) {
  NamedChoice& strategy = chosen.spec.strategy;
  if (!given || !stands_for_a_schedule(chosen.spec)) return;
  if (strategy.parameters.empty()) strategy.parameters = {{"sha", given->sha}};
  chosen.id = to_id(chosen.spec);
  chosen.given = given;
  chosen.schedule = path;
}

std::shared_ptr<const plan::GivenSchedule> read_schedule(const std::string& path) {
  if (path.empty()) return nullptr;
  return std::make_shared<const plan::GivenSchedule>(plan::read_csv(read_text(path)));
}

/// As cases are named, where it is an id.
std::optional<std::string> as_id(const std::string& text) {
  try {
    return to_id(plan::canonical(parse_case(text)));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<SelectedCase> select(const Selection& selection, const std::vector<Case>& usual) {
  std::vector<SelectedCase> candidates;
  const auto given = read_schedule(selection.schedule);
  for (const auto& text : selection.cases) {
    const Case spec = plan::canonical(parse_case(text));
    take_schedule(candidates.emplace_back(SelectedCase{spec, to_id(spec), true}), given, selection.schedule);
  }
  if (given && std::ranges::all_of(candidates, [](const SelectedCase& one) { return !one.given; })) {
    throw usage_error("--schedule", selection.schedule, "a case of strategy csv, which stands for a schedule file",
                      "write model/dataset/csv/np:N/batch:B");
  }
  if (selection.set && !selection.cases.empty())
    throw usage_error("--set", *selection.set, "no CASE beside it", "--filter and --where choose among its cases");
  if (selection.cases.empty()) {
    for (const Case& spec : selection.set ? find_set(*selection.set).cases() : usual)
      candidates.push_back({spec, to_id(spec), false});
  }
  const auto conditions = selection.where ? parse_where(*selection.where) : std::vector<Condition>{};
  const std::optional<std::string> filter_id = selection.filter ? as_id(*selection.filter) : std::nullopt;
  const auto passes_filter = [&](const std::string& id) {
    return !selection.filter || filter_matches(filter_id.value_or(*selection.filter), id);
  };
  std::vector<SelectedCase> chosen;
  for (auto& candidate : candidates) {
    const bool wanted = passes_filter(candidate.id) &&
                        std::ranges::all_of(conditions, [&](const Condition& c) { return holds(c, candidate.spec); }) &&
                        std::ranges::find(chosen, candidate.id, &SelectedCase::id) == chosen.end();
    if (wanted) chosen.push_back(std::move(candidate));
  }
  if (chosen.empty()) {
    const std::string both = selection.filter && selection.where ? " --where " + *selection.where : "";
    throw Error(ExitCode::nothing_matched, selection.filter ? "--filter" : "--where",
                selection.filter ? *selection.filter + both : selection.where.value_or(""),
                "to match at least one case",
                filter_id ? std::string("the catalogue does not hold this case: name it without --filter")
                          : to_type("list shows them"));
  }
  return chosen;
}

}  // namespace parabench::suite
