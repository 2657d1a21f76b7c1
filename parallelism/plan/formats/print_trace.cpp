#include "parallelism/plan/formats/print_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "parallelism/plan/matching.h"

namespace parabench::plan {
namespace {

using nlohmann::json;

constexpr double microseconds = 1e6;

json label(const char* what, int process, int thread, const json& arguments) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", arguments}};
}

json event(const Op& op, const Span& span, double origin, int process, int thread) {
  return {{"ph", "X"},
          {"name", to_text(op)},
          {"cat", name(op)},
          {"pid", process},
          {"tid", thread},
          {"ts", (span.start - origin) * microseconds},
          {"dur", (span.end - span.start) * microseconds},
          {"args",
           {{"step", op.step.value},
            {"version", op.version.value},
            {"waited_us", (span.start - span.queued) * microseconds},
            {"data_wait_us", span.data_wait * microseconds}}}};
}

/// Arrows from the sends of a lane to their receives.
void add_flows(json& events, const Timeline& timeline, const Matching& matching, const Lane& lane, Rank rank,
               int thread, const std::string& who, int first_process) {
  for (int i = 0; i < std::ssize(lane.ops); ++i) {
    if (lane.ops[i].kind != OpKind::send) continue;
    const LaneRef to = matching[rank.value][thread].front();
    const Span& sent = timeline.ranks[rank.value][thread][i];
    const Span& received = timeline.ranks[to.rank.value][to.lane][i];
    const std::string id =
        who + " " + std::to_string(rank.value) + "." + std::to_string(thread) + "." + std::to_string(i);
    const auto end = [&](const char* phase, Rank where, int lane_there, double seconds) {
      return json{{"ph", phase},
                  {"name", "message"},
                  {"cat", "message"},
                  {"id", id},
                  {"pid", first_process + where.value},
                  {"tid", lane_there},
                  {"ts", (seconds - timeline.origin) * microseconds}};
    };
    events.push_back(end("s", rank, thread, sent.start));
    // Bound to the receive that it lies in, never before the send.
    json arrival = end("f", to.rank, to.lane, std::max(sent.start, received.start));
    arrival["bp"] = "e";
    events.push_back(std::move(arrival));
  }
}

}  // namespace

json to_trace(const Plan& plan, const Timeline& timeline, const std::string& who, int first_process) {
  const Matching matching = twins(plan);
  json events = json::array();
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
    const int process = first_process + r;
    events.push_back(label("process_name", process, 0, {{"name", who + " " + std::to_string(r)}}));
    events.push_back(label("process_sort_index", process, 0, {{"sort_index", process}}));
    const auto& lanes = plan.ranks[r].lanes;
    for (int tid = 0; tid < std::ssize(lanes); ++tid) {
      const auto& ops = lanes[tid].ops;
      if (ops.empty()) continue;
      events.push_back(label("thread_name", process, tid, {{"name", name(lanes[tid].key)}}));
      for (std::size_t i = 0; i < ops.size(); ++i)
        events.push_back(event(ops[i], timeline.ranks[r][tid][i], timeline.origin, process, tid));
      add_flows(events, timeline, matching, lanes[tid], Rank(r), tid, who, first_process);
    }
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace parabench::plan
