#include "analytic/simulate/by_readiness.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "analytic/simulate/activities.h"
#include "base/error.h"
#include "parallelism/plan/matching.h"
#include "parallelism/plan/readiness.h"

namespace parabench::analytic {
namespace {

class ListScheduling {
 public:
  ListScheduling(const plan::Plan& plan, const TimeModel& time)
      : plan_(plan),
        time_(time),
        shares_cores_(time.cores() > 0),
        sharing_(plan, time),
        matching_(plan::twins(plan)),
        may_compute_(plan.ranks.size()),
        free_(plan.ranks.size(), operations_at_once(plan.spec)) {
    for (Rank r; r.value < std::ssize(plan.ranks); ++r.value) {
      readiness_.emplace_back(plan, r, plan::dependencies(plan, r));
      auto& spans = timeline_.ranks.emplace_back();
      for (const plan::Lane& lane : plan.ranks[r.value].lanes) spans.emplace_back(lane.ops.size());
      posted_.emplace_back(spans.size(), 0);
      ended_.emplace_back(spans.size(), 0);
    }
  }

  plan::Timeline run() {
    for (const plan::Readiness& rank : readiness_)
      for (const plan::OpRef& op : rank.initial()) post(op, 0);
    compute(0);
    std::vector<int> ended;
    while (shares_cores_ ? !sharing_.empty() : !own_.empty()) {
      ended.clear();
      const double now = shares_cores_ ? sharing_.finish(ended) : own_.finish(ended);
      for (const int activity : ended) complete(activities_[activity], now);
      if (!own_.has_ended(now)) compute(now);
    }
    require_finished();
    for (auto& lanes : timeline_.ranks)
      plan::queue_on_workers(lanes[plan::compute_lane], operations_at_once(plan_.spec), timeline_.origin);
    return std::move(timeline_);
  }

 private:
  plan::Span& span(const plan::OpRef& op) { return timeline_.ranks[op.rank.value][op.lane][op.index]; }

  /// It may start, but for those that it meets on other ranks, or for want of a worker.
  void post(const plan::OpRef& op, double now) {
    span(op).start = now;
    if (op.lane == plan::compute_lane) return may_compute_[op.rank.value].push(op.index);
    if (op.index > 0) span(op).queued = span({op.rank, op.lane, op.index - 1}).end;
    posted_[op.rank.value][op.lane] = op.index + 1;
    const auto& partners = matching_[op.rank.value][op.lane];
    const auto is_posted = [&](const plan::LaneRef& other) { return posted_[other.rank.value][other.lane] > op.index; };
    if (!std::ranges::all_of(partners, is_posted)) return;
    const bool is_receive = plan::at(plan_, op).kind == plan::OpKind::receive;
    const plan::LaneRef first = is_receive ? partners.front() : plan::LaneRef{op.rank, op.lane};
    start({first.rank, first.lane, op.index}, 1 + static_cast<int>(partners.size()), now);
  }

  /// Free workers take the first operations of those that may start.
  void compute(double now) {
    for (Rank r; r.value < std::ssize(may_compute_); ++r.value) {
      auto& ready = may_compute_[r.value];
      for (; free_[r.value] > 0 && !ready.empty(); ready.pop(), --free_[r.value]) {
        const plan::OpRef op{r, plan::compute_lane, ready.top()};
        span(op).start = now;
        start(op, 1, now);
      }
    }
  }

  void start(const plan::OpRef& op, int ends, double now) {
    const int activity = static_cast<int>(activities_.size());
    activities_.push_back(op);
    if (shares_cores_)
      sharing_.start({&plan::at(plan_, op), op.rank, activity, ends}, now);
    else
      own_.start(activity, now + time_.seconds(plan_, op.rank, plan::at(plan_, op), 1));
  }

  void complete(plan::OpRef op, double now) {
    if (op.lane == plan::compute_lane) ++free_[op.rank.value];
    end(op, now);
    for (const plan::LaneRef& other : matching_[op.rank.value][op.lane]) end({other.rank, other.lane, op.index}, now);
  }

  void end(const plan::OpRef& op, double now) {
    span(op).end = now;
    ++ended_[op.rank.value][op.lane];
    std::vector<plan::OpRef> ready;
    readiness_[op.rank.value].end(op, ready);
    for (const plan::OpRef& next : ready) post(next, now);
  }

  void require_finished() const {
    std::string waiting;
    for (std::size_t r = 0; r < ended_.size(); ++r) {
      for (std::size_t lane = 0; lane < ended_[r].size(); ++lane) {
        const plan::Lane& of = plan_.ranks[r].lanes[lane];
        const auto left = std::ssize(of.ops) - ended_[r][lane];
        if (left > 0) waiting += fmt::format("; rank {} has {} left on {}", r, left, plan::name(of.key));
      }
    }
    if (waiting.empty()) return;
    throw usage_error("plan", "a dead-lock" + waiting, "an order in which every operation can end",
                      "without executor:futurized the message names the operations");
  }

  const plan::Plan& plan_;
  const TimeModel& time_;
  bool shares_cores_;
  SharingActivities sharing_;
  OwnActivities own_;
  plan::Matching matching_;
  std::vector<plan::Readiness> readiness_;
  std::vector<std::priority_queue<int, std::vector<int>, std::greater<>>> may_compute_;  ///< [rank]
  std::vector<int> free_;                                                                ///< [rank] workers
  std::vector<std::vector<int>> posted_, ended_;  ///< [rank][lane] how many operations; the compute lane posts none
  std::vector<plan::OpRef> activities_;           ///< all that ever started
  plan::Timeline timeline_;
};

}  // namespace

plan::Timeline simulate_by_readiness(const plan::Plan& plan, const TimeModel& time) {
  return ListScheduling(plan, time).run();
}

}  // namespace parabench::analytic
