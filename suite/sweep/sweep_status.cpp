#include "suite/sweep/sweep_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/blanks.h"
#include "base/called.h"
#include "base/error.h"
#include "base/file.h"
#include "results/baseline.h"
#include "results/drift.h"
#include "results/origin.h"
#include "results/summary.h"
#include "suite/run/journal.h"
#include "suite/run/run_options.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

std::string text_if_any(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) ? read_text(path) : "";
}

std::string last_line(const std::string& text) {
  const std::string_view rest = trimmed(text, " \n\r");
  const std::size_t newline = rest.rfind('\n');
  return std::string(newline == rest.npos ? rest : rest.substr(newline + 1));
}

void judge_record(CaseProgress& progress, const results::Record& record) {
  progress.reason = record.reason;
  progress.state = results::counts(record)                     ? CaseState::done
                   : record.status == results::Status::skipped ? CaseState::skipped
                                                               : CaseState::failed;
  if (progress.state == CaseState::failed && progress.reason.empty()) progress.reason = record.equivalence.reason;
}

/// --resume takes over no finished record of other options.
void judge_options(CaseProgress& progress, const results::Record& record, const fs::path& folder) {
  if (progress.entry.command.empty() || measures_the_same(record.reproduce, progress.entry.command)) return;
  progress.state = CaseState::other;
  progress.reason = fmt::format("made with other options: {}; {}", record.reproduce,
                                is_finished(record)
                                    ? fmt::format("remove {} to run it again, if the sweep still has the case, or give "
                                                  "the sweep another name",
                                                  folder.string())
                                    : "the script runs it again, if the sweep still has the case");
}

/// Without a results file: what the run last said.
void judge_logs(CaseProgress& progress, const fs::path& folder) {
  const std::string said = last_line(text_if_any(folder / stderr_name));
  if (text_if_any(folder / stdout_name).find("PARABENCH_RESULT: FAIL") != std::string::npos) {
    progress.state = CaseState::failed;
    progress.reason = said.empty() ? "the run refused to start" : said;
    return;
  }
  std::error_code ignored;
  const bool started = was_cut_short(folder / result_name) || fs::exists(folder / stderr_name, ignored);
  progress.reason = !started ? "not started" : said.empty() ? "cut short" : "cut short: " + said;
}

CaseProgress look_at(const CampaignFolder& campaign, const IndexEntry& entry) {
  CaseProgress progress{entry};
  const fs::path folder = campaign.path / entry.folder, file = folder / result_name;
  std::error_code ignored;
  if (is_being_written(file)) {
    progress.state = CaseState::running;
  } else if (!fs::exists(file, ignored)) {
    judge_logs(progress, folder);
  } else {
    try {
      results::ResultsFile results = results::read_results(file);
      const auto found = std::ranges::find(results.records, entry.id, &results::Record::id);
      if (found == results.records.end())
        throw usage_error(file.string(), "no record of it", entry.id, "remove the file to run the case again");
      results.records = {*found};
      judge_record(progress, results.records.front());
      judge_options(progress, results.records.front(), folder);
      progress.results = std::move(results);
    } catch (const Error& error) {
      progress.state = CaseState::failed;
      progress.reason = error.what();
    }
  }
  return progress;
}

using Calibration = std::optional<results::CalibrationOrigin>;

/// The later state of one file, to which each case adds what it lacks; nullopt of different ones.
Calibration common(const Calibration& a, const Calibration& b) {
  if (!a || !b || a->file != b->file || a->machine_id != b->machine_id) return std::nullopt;
  return a->date < b->date ? b : a;
}

}  // namespace

std::vector<CaseProgress> progress_of(const CampaignFolder& campaign) {
  std::vector<CaseProgress> all;
  for (const IndexEntry& entry : read_index(campaign.path / index_name)) all.push_back(look_at(campaign, entry));
  return all;
}

results::ResultsFile collect(const std::vector<CaseProgress>& cases, const std::vector<std::string>& argv) {
  std::optional<results::ResultsFile> all;
  const CaseProgress* first = nullptr;
  for (const CaseProgress& one : cases) {
    if (!one.results || one.state == CaseState::other) continue;
    const results::ResultsFile& file = *one.results;
    if (!all) {
      all = file;
      first = &one;
      continue;
    }
    if (const auto difference = results::origin_difference(*first->results, file)) {
      throw usage_error(
          fmt::format("{} of {}", difference->what, one.entry.id), difference->second,
          fmt::format("{}, that of {}", difference->first, first->entry.id),
          to_type("report takes several files") + ", and sweep runs a case again whose result is removed");
    }
    for (const results::Host& host : file.context.hosts)
      if (std::ranges::find(all->context.hosts, host) == all->context.hosts.end()) all->context.hosts.push_back(host);
    std::erase_if(all->context.environment, [&](const auto& variable) {
      const auto other = file.context.environment.find(variable.first);
      return other == file.context.environment.end() || other->second != variable.second;
    });
    all->context.date = std::max(all->context.date, file.context.date);
    all->calibration = common(all->calibration, file.calibration);
    all->records.push_back(file.records.front());
  }
  if (!all)
    throw Error(ExitCode::nothing_matched, "sweep collect", "no result yet",
                "a sweep of which cases have run with its options", to_type("sweep status DIR tells how far it is"));
  all->context.argv = argv;
  results::fill_baselines(all->records);
  results::fill_adjusted_errors(all->records);
  return *all;
}

}  // namespace parabench::suite
