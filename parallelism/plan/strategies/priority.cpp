#include "parallelism/plan/strategies/priority.h"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "base/case_text.h"
#include "base/error.h"
#include "base/sum_order.h"
#include "base/units_text.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/strategies/data_parallel.h"
#include "parallelism/plan/strategies/horovod.h"

namespace parabench::plan {
namespace {

/// Into how many parts of whole units so many bytes are cut.
std::int64_t parts_of_bytes(std::int64_t bytes, Bytes partition) {
  const std::int64_t units = (bytes + slice_alignment_bytes - 1) / slice_alignment_bytes;
  const std::int64_t most = std::max<std::int64_t>(1, partition.value / slice_alignment_bytes);
  return std::max<std::int64_t>(1, (units + most - 1) / most);
}

/// A run for each segment that has parameters; the others join their neighbours.
std::vector<SegmentRun> single_segments(const Plan& plan, std::span<const Bytes> bytes) {
  return gradient_runs(plan, bytes,
                       [&](Bytes size, SegmentId next) { return size > Bytes(0) && bytes[next.value] > Bytes(0); });
}

/// Bytes of each of the runs in an arena.
std::vector<std::int64_t> run_bytes(const Plan& plan, const models::ModelSpec& model,
                                    std::span<const SegmentRun> runs) {
  const ParameterSizes sizes(model);
  const int element = parameter_bytes(plan.spec.precision);
  std::vector<std::int64_t> bytes;
  for (const SegmentRun& run : runs)
    bytes.push_back(elements_of(plan, sizes, run.first, run.segments, element) * element);
  return bytes;
}

Plan add_prioritised_sums(Plan plan, const StrategyInput& input) {
  std::vector<SegmentRun> runs = single_segments(plan, gradient_bytes(plan, input.model));
  std::ranges::reverse(runs);  // as the next forward reads them
  const std::vector<std::int64_t> bytes = run_bytes(plan, input.model, runs);
  const std::vector<double> ready = gradients_ready(plan, input.profile.seconds);
  const Bytes partition = sum_order(input.spec).partition;
  plan.parts.assign(plan.segments.size(), 1);
  std::vector<TimedPart> parts;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const SegmentId first = runs[i].first;
    const auto count = static_cast<int>(parts_of_bytes(bytes[i], partition));
    plan.parts[first.value] = count;
    const double sum_s = input.profile.sum.seconds(static_cast<double>(bytes[i]) / count);
    for (int part = 1; part <= count; ++part)
      parts.push_back({{runs[i], count > 1 ? part : 0}, ready[first.value], sum_s});
  }
  return add_ordered_sums(std::move(plan), by_priority(std::move(parts)), runs);
}

}  // namespace

std::vector<RunPart> by_priority(std::vector<TimedPart> parts) {
  const auto place = [](const RunPart& part) { return std::tuple(part.run.first, part.part); };
  std::ranges::stable_sort(parts, {}, [&](const TimedPart& p) { return std::tuple(p.ready_s, place(p.what)); });
  const auto later = [&](const TimedPart& a, const TimedPart& b) { return place(a.what) > place(b.what); };
  std::priority_queue<TimedPart, std::vector<TimedPart>, decltype(later)> waiting(later);
  std::vector<RunPart> order;
  double now = 0;
  auto next = parts.begin();
  while (next != parts.end() || !waiting.empty()) {
    if (waiting.empty()) now = std::max(now, next->ready_s);
    for (; next != parts.end() && next->ready_s <= now; ++next) waiting.push(*next);
    order.push_back(waiting.top().what);
    now += waiting.top().sum_s;
    waiting.pop();
  }
  return order;
}

Plan prioritised_plan(const StrategyInput& input) {
  return replicated_plan(input, [&](Plan plan) { return add_prioritised_sums(std::move(plan), input); });
}

void check_order(const Case& spec, const models::ModelSpec& model) {
  const SumOrder order = sum_order(spec);
  if (order.kind != SumOrderKind::priority) return;
  if (spec.bucket != Case{}.bucket)
    throw usage_error("bucket", print_bytes(spec.bucket),
                      "no bucket with order:priority, which sums partitions of single layers",
                      "leave bucket out, or write order:priority[partition=" + print_bytes(spec.bucket) + "]");
  if (spec.compress != Case{}.compress)
    throw usage_error("order", parabench::to_text(spec.order),
                      "backward with compress:" + spec.compress.name + ", which sums whole buckets", "leave order out");
  const ParameterSizes sizes(model);
  const int element = parameter_bytes(spec.precision), layers = static_cast<int>(model.layers.size());
  const auto cuts = [&](Bytes partition) {
    std::int64_t sum = 0;
    for (int layer = 0; layer < layers; ++layer)
      sum += parts_of_bytes(sizes.elements(layer, 1, element) * element, partition) - 1;
    return sum;
  };
  constexpr std::int64_t most = most_ports - 1;  // were they all in one layer
  if (cuts(order.partition) <= most) return;
  Bytes larger = order.partition;
  while (cuts(larger) > most) larger = Bytes(2 * larger.value);
  throw usage_error(partition_of_priority, print_bytes(order.partition),
                    "a larger one: it cuts the gradients of the layers of " + model.name + " in " +
                        std::to_string(cuts(order.partition)) + " places, at most " + std::to_string(most),
                    "try partition=" + print_bytes(larger));
}

}  // namespace parabench::plan
