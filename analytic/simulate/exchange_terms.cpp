#include "analytic/simulate/exchange_terms.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/case_text.h"
#include "base/placement.h"
#include "parallelism/plan/passes/statistics.h"

namespace parabench::analytic {
namespace {

/// "all_reduce", "all-reduce".
std::string lower(std::string_view words, char between) {
  std::string text;
  for (const char c : words) text += c == '_' ? between : static_cast<char>(std::tolower(c));
  return text;
}

std::string shape_of(const TermList& terms, GroupId group) {
  return to_text(group_shape(terms.plan.placement, terms.counted.groups[group.value].ranks));
}

std::string_view between_hosts(const TermList& terms, Rank from, Rank to) {
  return on_one_host(terms.plan.placement, from, to) ? "" : " between hosts";
}

/// The sums of one direction, one line for all of them.
void statistics_term(TermList& terms, Rank rank, StageId stage, const plan::Lane& lane) {
  int sums = 0;
  std::int64_t bytes = 0;
  double seconds = 0;
  for (const plan::Op& op : lane.ops) {
    if (plan::stage_of(terms.plan, op.segment) != stage || op.step != lane.ops.front().step ||
        op.micro_batch != lane.ops.front().micro_batch)
      continue;
    ++sums;
    bytes += terms.sizes.payload_bytes(terms.plan, rank, op);
    seconds += terms.time.seconds(terms.plan, rank, op, 1);
  }
  const bool forward = lane.key.purpose == plan::Payload::activation;
  terms.add_transfer(
      fmt::format("{}[stage {}]", forward ? "sums_of_statistics" : "sums_of_their_gradients", stage.value), seconds,
      fmt::format("{} all-reduces of {} bytes in all, {}, which nothing hides: 2 C + 1 numbers of fp64 each", sums,
                  bytes, shape_of(terms, lane.key.group)),
      "batch norms of C channels, sync_bn:on", rank, lane.ops.front());
}

}  // namespace

void collective_terms(TermList& terms, Rank rank, StageId stage, const plan::Lane& lane) {
  if (plan::sums_statistics(terms.plan, lane.ops.front())) return statistics_term(terms, rank, stage, lane);
  int bucket = 0;
  for (const plan::Op& op : lane.ops) {
    if (plan::stage_of(terms.plan, op.segment) != stage) continue;
    if (op.step != lane.ops.front().step || op.micro_batch != lane.ops.front().micro_batch) continue;
    const std::string what = lower(to_text(op.kind), '_');
    const bool by_name = plan::is_of_micro_batch(op.payload) || op.payload == plan::Payload::tied_gradients ||
                         op.payload == plan::Payload::norms || op.payload == plan::Payload::projected ||
                         op.payload == plan::Payload::gradient_shares;
    const std::string_view part = by_name ? to_text(op.payload) : terms.plan.parts.empty() ? "bucket" : "partition";
    const TimeParts parts = terms.time.parts(terms.plan, rank, op, 1);
    terms.add_transfer(
        fmt::format("{}[stage {}, {} {}]", what, stage.value, part, bucket++), parts.total(),
        fmt::format("T({} bytes, {}), nothing else running{}", terms.sizes.payload_bytes(terms.plan, rank, op),
                    shape_of(terms, op.group), parts.memory > 0 ? "; before it the rank's own share is copied" : ""),
        "in-place " + lower(to_text(op.kind), '-'), rank, op);
  }
}

void message_terms(TermList& terms, Rank rank, StageId stage, const plan::Lane& lane) {
  std::set<int> told;
  for (const plan::Op& op : lane.ops) {
    if (plan::is_over_run(op)) return served_terms(terms, rank, stage, lane);
    if (plan::stage_of(terms.plan, op.segment) != stage || !told.insert(op.port).second) continue;
    const StageId to = plan::stage_of(terms.plan, plan::other_segment(op, terms.plan.skips));
    const std::string of = op.port == 0 ? "" : fmt::format(", skip {}", static_cast<int>(op.port));
    terms.add_transfer(
        fmt::format("message[stage {} to {}{}]", stage.value, to.value, of),
        terms.time.seconds(terms.plan, rank, op, 1),
        fmt::format("T({} bytes{}), nothing else running", terms.sizes.payload_bytes(terms.plan, rank, op),
                    between_hosts(terms, rank, op.peer)),
        "point to point, one micro-batch", rank, op);
    if (terms.plan.skips.empty()) return;
  }
}

void served_terms(TermList& terms, Rank rank, StageId stage, const plan::Lane& lane) {
  int bucket = 0;
  for (const plan::Op& op : lane.ops) {
    if (plan::stage_of(terms.plan, op.segment) != stage || op.step != lane.ops.front().step) continue;
    terms.add_transfer(
        fmt::format("send_{}[stage {}, bucket {}]", to_text(op.payload), stage.value, bucket++),
        terms.time.seconds(terms.plan, rank, op, 1),
        terms.time.shares_links()
            ? fmt::format("T({} bytes), nothing else running", terms.sizes.payload_bytes(terms.plan, rank, op))
            : fmt::format("T({} bytes{}), the link shared by {}", terms.sizes.payload_bytes(terms.plan, rank, op),
                          between_hosts(terms, rank, op.peer), link_sharers(terms.plan, op)),
        "point to point", rank, op);
  }
}

void compression_term(TermList& terms, Rank rank, StageId stage) {
  std::int64_t gradients = 0, sent = 0;
  for (const plan::Lane& lane : terms.plan.ranks[rank.value].lanes) {
    if (!plan::is_compressed(lane.key.purpose)) continue;
    for (const plan::Op& op : lane.ops) {
      if (plan::stage_of(terms.plan, op.segment) != stage || op.step != lane.ops.front().step) continue;
      const std::int64_t own =
          lane.ops.front().kind == plan::OpKind::all_gather ? std::ssize(terms.plan.groups[op.group.value].ranks) : 1;
      sent += terms.sizes.payload_bytes(terms.plan, rank, op) / own;
      if (op.payload == plan::Payload::encoded)
        gradients += terms.sizes.parameter_bytes(terms.plan, op.segment, op.segments);
    }
  }
  if (sent == 0) return;
  terms.add(fmt::format("compression_ratio[stage {}]", stage.value),
            static_cast<double>(gradients) / static_cast<double>(sent), "1",
            fmt::format("{} bytes of gradients / {} bytes of a rank's messages", gradients, sent),
            fmt::format("compress:{}", to_text(terms.plan.spec.compress)));
}

}  // namespace parabench::analytic
