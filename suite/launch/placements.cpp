#include "suite/launch/placements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/counted.h"
#include "parallelism/plan/strategies/peer.h"
#include "suite/protocol/exchange_work.h"

namespace parabench::suite {
namespace {

/// "a (2 ranks), b (1 rank)".
std::string hosts_text(const std::vector<std::string>& host_of_rank) {
  std::map<std::string, int> ranks;
  for (const std::string& host : host_of_rank) ++ranks[host];
  std::vector<std::string> texts;
  for (const auto& [host, count] : ranks) texts.push_back(fmt::format("{} ({})", host, counted(count, "rank")));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::set<int> unknown_placements(const std::vector<SelectedCase>& chosen, const Launcher& launcher) {
  std::set<int> ranks;
  for (const SelectedCase& one : chosen) {
    if (one.spec.np == 1 || is_emulated(one.spec) || plan::is_peer(one.spec)) continue;
    if (!stays_on_this_host(launcher_for(one.spec, launcher))) ranks.insert(one.spec.np);
  }
  return ranks;
}

Placements find_placements(const std::set<int>& ranks, Workplace& workplace) {
  Placements placements;
  for (const int np : ranks) {
    const protocol::ExchangeWork nothing{.setting = {.np = np}, .exchanges = {}};
    LaunchRequest request;
    request.phase = protocol::Phase::communicate;
    request.exchanges = &nothing;
    request.timeout_s = launch_patience(0);
    LaunchResult result;
    try {
      result = run(workplace, request);
    } catch (const Error& error) {
      result.reason = error.what();
    }
    if (result.interrupted) throw Interrupted{};
    if (std::ssize(result.host_of_rank) < np || !result.reply) {
      workplace.progress.note(fmt::format(
          "where {} ranks are is not known, predictions take them to be on one host: {}", np, result.reason));
      continue;
    }
    placements[np] = placement_by_names(result.host_of_rank);
    if (host_count(placements[np]) > 1)
      workplace.progress.note(
          fmt::format("{} ranks are on {}: predictions tell messages and sums between hosts from those within one", np,
                      hosts_text(result.host_of_rank)));
  }
  return placements;
}

}  // namespace parabench::suite
