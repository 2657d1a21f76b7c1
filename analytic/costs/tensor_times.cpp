#include "analytic/costs/tensor_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analytic/calibration/profile.h"
#include "analytic/costs/times_of.h"
#include "models/spec/tensor_shard.h"
#include "parallelism/plan/strategies/strategies.h"

namespace parabench::analytic {
namespace {

/// Segments are layers and every rank of a group has them: what an all-reduce of a layer's output is asked of.
plan::Plan layers_on(const Case& spec, const Sizes& sizes, int ranks, int samples) {
  plan::Plan plan = single_layers(spec, sizes.model(), samples);
  plan.spec.np *= ranks;
  plan.ranks.resize(ranks, plan.ranks.front());
  plan.groups = {{plan::Axis::tensor, {}}};
  for (Rank rank; rank.value < ranks; ++rank) plan.groups.front().ranks.push_back(rank);
  return plan;
}

plan::Op sum_of(int layer) {
  return plan::all_reduce_forward(SegmentId(layer), MicroBatchId(0), StepId(0), GroupId(0));
}

class TensorTimes final : public TimesOf {
 public:
  TensorTimes(std::unique_ptr<const TimeModel> passes, std::unique_ptr<const TimeModel> sums, const Case& spec,
              Sizes sizes, int ranks)
      : TimesOf(std::move(passes)), sums_(std::move(sums)), largest_(plan::largest_piece(spec)) {
    // Pieces differ by one sample at most.
    for (int smaller = 0; smaller < 2; ++smaller) {
      const plan::Plan plan = layers_on(spec, sizes, ranks, std::max(1, largest_ - smaller));
      std::vector<TimeParts>& before = before_[smaller];
      before.emplace_back();
      for (int layer = 0; layer < std::ssize(plan.segments); ++layer) {
        const int count = models::tensor_sums(sizes.model().layers[layer]);
        TimeParts sum = before.back();
        if (count > 0) sum += static_cast<double>(count) * parts(plan, Rank(0), sum_of(layer), 1);
        before.push_back(sum);
      }
    }
  }

  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    const bool is_of_layer = plan::is_collective(op.kind) && plan.groups[op.group.value].axis == plan::Axis::tensor;
    if (is_of_layer) return sums_->parts(plan, rank, op, busy_ranks);
    TimeParts parts = base_.parts(plan, rank, op, busy_ranks);
    if (!plan::is_pass(op.kind) || op.kind == plan::OpKind::backward_weight) return parts;
    const plan::Segment& segment = plan.segments[op.segment.value];
    const auto& before = before_[samples_of(plan, rank, op) < largest_];
    parts += before[segment.first_layer + segment.layers];
    parts += -1.0 * before[segment.first_layer];
    return parts;
  }

 private:
  std::unique_ptr<const TimeModel> sums_;
  int largest_;
  std::vector<TimeParts> before_[2];  ///< [smaller]: sums of the layers before each, in one pass
};

}  // namespace

std::unique_ptr<const TimeModel> tensor_times(std::unique_ptr<const TimeModel> passes,
                                              std::unique_ptr<const TimeModel> sums, const Case& spec, Sizes sizes,
                                              int ranks) {
  return std::make_unique<TensorTimes>(std::move(passes), std::move(sums), spec, std::move(sizes), ranks);
}

Term tensor_term(const TimeModel& times, const Case& spec, const Sizes& sizes, int ranks) {
  const plan::Plan plan = layers_on(spec, sizes, ranks, plan::largest_piece(spec));
  const auto& layers = sizes.model().layers;
  const auto layer = std::ranges::max_element(layers, {}, models::tensor_sums) - layers.begin();
  const int count = models::tensor_sums(layers[layer]);
  const auto divided = std::ranges::count_if(layers, [](const auto& one) { return models::tensor_sums(one) > 0; });
  const plan::Op sum = sum_of(static_cast<int>(layer));
  const bool again = spec.recompute == Recompute::all || spec.recompute == Recompute::except_last;
  return {
      .name = fmt::format("tensor_sums[{}]", layers[layer].name),
      .value = (again ? 3 : 2) * count * times.seconds(plan, Rank(0), sum, 1),
      .unit = "s",
      .formula = fmt::format("{} all-reduces forward{} and {} backward, T({} bytes, {} ranks), which nothing hides, "
                             "for every micro-batch; {} of the model's layers have sums",
                             count, again ? fmt::format(", {} where it runs again", count) : "", count,
                             sizes.payload_bytes(plan, Rank(0), sum), ranks, divided),
      .source = "Megatron-LM (Shoeybi et al. 2019)",
      .cost_source = times.link_source()};
}

}  // namespace parabench::analytic
