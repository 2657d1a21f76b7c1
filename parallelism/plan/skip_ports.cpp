#include "parallelism/plan/skip_ports.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "base/error.h"
#include "models/spec/skips.h"

namespace parabench::plan {

SegmentId segment_of(std::span<const Segment> segments, int layer) {
  const auto next = std::ranges::upper_bound(segments, layer, {}, &Segment::first_layer);
  return SegmentId(static_cast<int>(next - segments.begin()) - 1);
}

std::vector<SkipPort> skip_ports(std::span<const Segment> segments, const models::ModelSpec& model) {
  const std::vector<models::Skip> all = models::skips(model);
  const std::vector<int> tensors = models::tensors_of(model, all);
  std::set<std::tuple<int, SegmentId, SegmentId>> ports;
  for (int i = 0; i < std::ssize(all); ++i) {
    const SegmentId from = segment_of(segments, all[i].from_layer), to = segment_of(segments, all[i].to_layer);
    if (from != to) ports.insert({tensors[i], to, from});
  }
  if (std::ssize(ports) > most_ports)
    throw usage_error(
        "model", model.name,
        "at most " + std::to_string(most_ports) + " tensors that skip segments, not " + std::to_string(ports.size()),
        "try fewer layers");
  std::vector<SkipPort> result;
  for (const auto& [tensor, to, from] : ports) result.push_back({from, to, tensor});
  return result;
}

PortsOfSegments::PortsOfSegments(const Plan& plan) : leaving(plan.segments.size()), entering(plan.segments.size()) {
  for (int port = 1; port <= std::ssize(plan.skips); ++port) {
    leaving[plan.skips[port - 1].from.value].push_back(port);
    entering[plan.skips[port - 1].to.value].push_back(port);
  }
}

int earlier_port(std::span<const SkipPort> skips, int port) {
  return port > 1 && skips[port - 2].tensor == skips[port - 1].tensor ? port - 1 : 0;
}

Rank owner_of(const Plan& plan, const PieceOwners& owners, Rank r, const Op& pass, SegmentId segment) {
  const StageId stage = stage_of(plan, segment);
  if (stage == stage_of(plan, pass.segment)) return r;
  Holding there = *find_holding(plan, r, stage_of(plan, pass.segment));
  there.stage = stage;
  return owners.of(there, pass.micro_batch, pass.step);
}

Rank SkipMessages::owner(Rank r, const Op& pass, SegmentId segment) const {
  const Rank found = owner_of(plan_, owners_, r, pass, segment);
  return found.value < 0 ? r : found;
}

bool SkipMessages::is_first_on(Rank taker, Rank r, const Op& pass, int port) const {
  for (int before = port; (before = earlier_port(plan_.skips, before)) > 0;) {
    if (owner(r, pass, plan_.skips[before - 1].to) == taker) return false;
  }
  return true;
}

std::vector<Op> SkipMessages::sends_after(Rank r, const Op& pass) const {
  std::vector<Op> sends;
  const auto add = [&](Op send, int port) {
    send.port = static_cast<std::uint16_t>(port);
    sends.push_back(send);
  };
  if (pass.kind == OpKind::forward) {
    for (const int port : ports_.leaving[pass.segment.value]) {
      const Rank to = owner(r, pass, plan_.skips[port - 1].to);
      if (to != r && is_first_on(to, r, pass, port))
        add(send_forward(pass.segment, pass.micro_batch, pass.step, to), port);
    }
  }
  if (makes_input_gradient(pass.kind)) {
    for (const int port : ports_.entering[pass.segment.value]) {
      const Rank to = owner(r, pass, plan_.skips[port - 1].from);
      if (to != r && is_first_on(r, r, pass, port))
        add(send_backward(pass.segment, pass.micro_batch, pass.step, to), port);
    }
  }
  return sends;
}

}  // namespace parabench::plan
