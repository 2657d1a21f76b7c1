#include "parallelism/plan/shared_links.h"

#include <algorithm>
#include <set>
#include <utility>

namespace parabench::plan {
namespace {

int way_out(Rank rank) { return 2 * rank.value; }
int way_in(Rank rank) { return 2 * rank.value + 1; }

}  // namespace

std::vector<int> ports_of(const Plan& plan, Rank rank, const Op& op) {
  if (op.kind == OpKind::send) return {way_out(rank), way_in(op.peer)};
  if (op.kind == OpKind::receive) return {way_out(op.peer), way_in(rank)};
  std::vector<int> ports;
  if (!is_collective(op.kind)) return ports;
  for (const Rank member : plan.groups[op.group.value].ranks) {
    ports.push_back(way_out(member));
    ports.push_back(way_in(member));
  }
  return ports;
}

void SharedLinks::start(int number, Transfer transfer, double ready) {
  for (const int port : transfer.ports) passing_.resize(std::max(passing_.size(), static_cast<std::size_t>(port) + 1));
  Flow& flow = flows_[number];
  flow = {.ports = std::move(transfer.ports), .remaining_s = transfer.seconds, .since = ready + transfer.latency_s};
  expect(number, flow);
}

double SharedLinks::next() {
  while (!events_.empty()) {
    const Event& first = events_.top();
    const auto flow = flows_.find(first.number);
    if (flow != flows_.end() && flow->second.stamp == first.stamp) return first.instant;
    events_.pop();
  }
  return never;
}

double SharedLinks::finish(std::vector<int>& over) {
  const double now = next();
  std::set<int> touched;  // ports
  // All that the instant holds before anybody's share changes: what ends with another has nothing left to speed up.
  while (next() == now) {
    const int number = events_.top().number;
    events_.pop();
    Flow& flow = flows_.at(number);
    touched.insert(flow.ports.begin(), flow.ports.end());
    flow.stamp = ++stamps_;
    const bool has_passed = flow.share > 0 || flow.remaining_s == 0;
    if (has_passed) over.push_back(number);
    for (const int port : flow.ports) {
      if (!has_passed) passing_[port].push_back(number);
      if (has_passed) std::erase(passing_[port], number);
    }
    if (has_passed) flows_.erase(number);
  }
  std::set<int> met;
  for (const int port : touched) met.insert(passing_[port].begin(), passing_[port].end());
  for (const int number : met) share_anew(number, flows_.at(number), now);
  return now;
}

double SharedLinks::over(int number) const {
  const Flow& flow = flows_.at(number);
  return flow.share > 0 ? flow.next() : flow.since + flow.remaining_s;
}

void SharedLinks::expect(int number, Flow& flow) {
  flow.stamp = ++stamps_;
  events_.push({flow.next(), number, flow.stamp});
}

void SharedLinks::share_anew(int number, Flow& flow, double now) {
  std::size_t most = 1;
  for (const int port : flow.ports) most = std::max(most, passing_[port].size());
  const double share = 1 / static_cast<double>(most);
  if (share == flow.share) return;
  if (flow.share > 0) {
    const double passed = std::max(now, flow.since);
    flow.remaining_s = std::max(0.0, flow.remaining_s - (passed - flow.since) * flow.share);
    flow.since = passed;
  }
  flow.share = share;
  expect(number, flow);
}

}  // namespace parabench::plan
