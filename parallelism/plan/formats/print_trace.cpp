#include "parallelism/plan/formats/print_trace.h"

#include <nlohmann/json.hpp>

namespace parabench::plan {
namespace {

using nlohmann::json;

json label(const char* what, int rank, int lane, const std::string& text) {
  return {{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", lane}, {"args", {{"name", text}}}};
}

json event(const Op& op, const Span& span, double origin, int rank, int lane) {
  constexpr double microseconds = 1e6;
  return {{"ph", "X"},
          {"name", to_text(op)},
          {"cat", name(op)},
          {"pid", rank},
          {"tid", lane},
          {"ts", (span.start - origin) * microseconds},
          {"dur", (span.end - span.start) * microseconds},
          {"args",
           {{"step", op.step.value},
            {"version", op.version.value},
            {"waited_us", (span.start - span.queued) * microseconds},
            {"data_wait_us", span.data_wait * microseconds}}}};
}

}  // namespace

json to_trace(const Plan& plan, const Timeline& timeline) {
  json events = json::array();
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
    events.push_back(label("process_name", r, 0, "rank " + std::to_string(r)));
    const auto& lanes = plan.ranks[r].lanes;
    for (int tid = 0; tid < std::ssize(lanes); ++tid) {
      const auto& ops = lanes[tid].ops;
      if (ops.empty()) continue;
      events.push_back(label("thread_name", r, tid, name(lanes[tid].key)));
      for (std::size_t i = 0; i < ops.size(); ++i) {
        events.push_back(event(ops[i], timeline.ranks[r][tid][i], timeline.origin, r, tid));
      }
    }
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace parabench::plan
