#include "suite/rank/rank_reports.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/host_name.h"
#include "parallelism/comm/gather.h"

namespace parabench::rank {

protocol::RankReport report(Rank rank, exec::RankSpans spans, double clock_offset, const std::string& device) {
  protocol::RankReport result;
  result.measured.rank = rank;
  result.measured.host = host_name();
  result.measured.device = device;
  for (auto& lane : spans) {
    for (plan::Span& span : lane) {
      span.queued += clock_offset;
      span.start += clock_offset;
      span.end += clock_offset;
    }
  }
  result.spans = std::move(spans);
  return result;
}

std::vector<protocol::RankReport> gather_reports(comm::Communicator& comm, const protocol::RankReport& mine) {
  std::vector<protocol::RankReport> reports;
  for (const std::string& text : comm::gather_to_root(comm, protocol::to_json(mine).dump())) {
    const nlohmann::json document = nlohmann::json::parse(text);
    const std::string name = "report of rank " + std::to_string(reports.size());
    reports.push_back(protocol::rank_report_from_json(JsonReader(document, name)));
  }
  return reports;
}

plan::Timeline timeline_of(const std::vector<protocol::RankReport>& reports) {
  plan::Timeline timeline{.origin = std::numeric_limits<double>::infinity()};
  for (const protocol::RankReport& report : reports) {
    timeline.ranks.push_back(report.spans);
    // Where a stage's replicas take mini-batches in turn, a short window may leave none for a rank.
    const auto& computed = report.spans[plan::compute_lane];
    if (!computed.empty()) timeline.origin = std::min(timeline.origin, computed.front().queued);
  }
  return timeline;
}

}  // namespace parabench::rank
