#include "parallelism/plan/partition/partition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.h"
#include "base/units_text.h"
#include "parallelism/plan/partition/bisect.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {
namespace {

// Stage costs are differences of prefix sums. Rounding keeps their order (a longer stage never costs less), which is
// all that the searches below ask for.
std::vector<double> prefix_sums(std::span<const double> costs) {
  std::vector<double> sums(costs.size() + 1, 0.0);
  std::partial_sum(costs.begin(), costs.end(), sums.begin() + 1);
  return sums;
}

/// fewest[i]: stages that the layers from i on need at least when none costs more than `bound`.
std::vector<int> fewest_stages(const std::vector<double>& sums, double bound) {
  const int n = static_cast<int>(sums.size()) - 1;
  std::vector<int> fewest(n + 1, 0);
  for (int i = n - 1, end = n; i >= 0; --i) {
    while (sums[end] - sums[i] > bound) --end;
    fewest[i] = end > i ? fewest[end] + 1 : n + 1;  // a layer above the bound fits no stage, nor do those before it
  }
  return fewest;
}

/// The search over stages that differ in what they can hold or take.
class LimitedCut {
 public:
  LimitedCut(std::span<const double> costs, std::span<const int> widths, const MemoryLimit& limit)
      : limit_(limit),
        widths_(widths.begin(), widths.end()),
        layers_(static_cast<int>(costs.size())),
        stages_(static_cast<int>(limit.in_flight.size())),
        seconds_(prefix_sums(costs)),
        bytes_(costs.size() + 1),
        passing_((costs.size() + 1) * (costs.size() + 1)),
        end_(stages_, std::vector<int>(layers_)) {
    if (widths_.empty()) widths_.assign(stages_, 1);
    for (int i = 0; i < layers_; ++i) {
      bytes_[i + 1] = {bytes_[i].fixed + limit.layers[i].fixed, bytes_[i].in_flight + limit.layers[i].in_flight};
    }
    for (int i = 0; i < layers_; ++i) {
      for (int end = i + 1; end <= layers_; ++end) {
        passing(i, end) = std::max(passing(i, end - 1), limit.layers[end - 1].passing);
      }
    }
  }

  double total_seconds() const { return seconds_.back(); }
  /// More than any stage can need.
  std::int64_t largest_need() const {
    const std::int64_t entry = std::ranges::max(limit_.layers, {}, &LayerBytes::entry).entry;
    return passing(0, layers_) + bytes_.back().fixed +
           *std::ranges::max_element(limit_.in_flight) * (bytes_.back().in_flight + entry);
  }
  std::int64_t stage_bytes(int stage, int begin, int end) const {
    const int in_flight = limit_.in_flight[stage];
    // What the stage before has in flight has sent its output here, or will before it is released there.
    const std::int64_t entries =
        begin == 0 ? 0 : std::max(in_flight, limit_.in_flight[stage - 1]) * limit_.layers[begin].entry;
    return passing(begin, end) + bytes_[end].fixed - bytes_[begin].fixed +
           in_flight * (bytes_[end].in_flight - bytes_[begin].in_flight) + entries;
  }

  /// Looks for the cuts that keep both bounds; whether there is one.
  bool find(double seconds, std::int64_t bytes) {
    // nearest[i]: the first layer from i on from which the stages behind find a cut; the end, if there are none
    std::vector<int> next(layers_ + 1), nearest(layers_ + 1, layers_);
    for (int stage = stages_ - 1; stage >= 0; --stage) {
      next.swap(nearest);
      std::ranges::fill(nearest, none);
      // The first stage begins with the first layer; each before and after another needs a layer of its own.
      const int last = stage == 0 ? 0 : layers_ - (stages_ - stage);
      for (int i = last, end = layers_; i >= stage; --i) {
        const auto fits = [&](int to) {
          return (seconds_[to] - seconds_[i]) / widths_[stage] <= seconds && stage_bytes(stage, i, to) <= bytes;
        };
        // A layer's entry may be larger than all that its neighbour before it adds.
        while (end < layers_ && fits(end + 1)) ++end;
        while (end > i && !fits(end)) --end;
        const int shortest = next[i + 1];
        end_[stage][i] = shortest;
        nearest[i] = shortest <= end ? i : nearest[i + 1];
      }
    }
    return nearest[0] == 0;
  }

  /// The first cut in lexicographic order within the bounds of the last `find`, which found one.
  std::vector<int> first() const {
    std::vector<int> sizes;
    for (int stage = 0, i = 0; stage < stages_; i = end_[stage++][i]) sizes.push_back(end_[stage][i] - i);
    return sizes;
  }

 private:
  std::int64_t& passing(int begin, int end) { return passing_[begin * (layers_ + 1) + end]; }
  std::int64_t passing(int begin, int end) const { return passing_[begin * (layers_ + 1) + end]; }

  static constexpr int none = std::numeric_limits<int>::max();

  const MemoryLimit& limit_;
  std::vector<int> widths_;
  int layers_, stages_;
  std::vector<double> seconds_;
  std::vector<LayerBytes> bytes_;
  std::vector<std::int64_t> passing_;  // the largest of each range of layers
  std::vector<std::vector<int>> end_;  // [stage][first layer]: the shortest stage that leaves the rest a cut
};

[[noreturn]] void throw_too_large(LimitedCut& cut, const MemoryLimit& limit) {
  const double any = cut.total_seconds();
  const std::int64_t least =
      smallest(limit.bytes, cut.largest_need(), [&](std::int64_t bytes) { return cut.find(any, bytes); });
  cut.find(any, least);
  const std::vector<int> sizes = cut.first();
  int stage = 0, begin = 0;
  while (cut.stage_bytes(stage, begin, begin + sizes[stage]) < least) begin += sizes[stage++];
  throw usage_error("memory", print_bytes(Bytes(limit.bytes)),
                    "at least " + std::to_string(least) + " bytes, which stage " + std::to_string(stage) +
                        " takes in the leanest cut (layers " + std::to_string(begin) + " to " +
                        std::to_string(begin + sizes[stage] - 1) + ", " + std::to_string(limit.in_flight[stage]) +
                        " micro-batches in flight)",
                    "try more stages, smaller micro-batches or recompute:all");
}

}  // namespace

std::vector<int> min_max_partition(std::span<const double> costs, int stages) {
  const std::vector<double> sums = prefix_sums(costs);
  const double optimum =
      smallest_double(sums.back(), [&](double bound) { return fewest_stages(sums, bound).front() <= stages; });

  // Taking the shortest stage that keeps the optimum, again and again, gives the first optimum in lexicographic order.
  const std::vector<int> fewest = fewest_stages(sums, optimum);
  std::vector<int> sizes;
  for (int left = stages - 1, i = 0; left >= 0; --left) {
    int end = left == 0 ? static_cast<int>(costs.size()) : i + 1;
    while (fewest[end] > left) ++end;
    sizes.push_back(end - i);
    i = end;
  }
  return sizes;
}

std::vector<int> shared_partition(std::span<const double> costs, std::span<const int> widths) {
  const std::vector<LayerBytes> nothing(costs.size());
  const std::vector<int> none(widths.size(), 0);
  return memory_limited_partition(costs, widths, {.layers = nothing, .in_flight = none});
}

std::vector<int> memory_limited_partition(std::span<const double> costs, std::span<const int> widths,
                                          const MemoryLimit& limit) {
  LimitedCut cut(costs, widths, limit);
  if (!cut.find(cut.total_seconds(), limit.bytes)) throw_too_large(cut, limit);
  const double optimum =
      smallest_double(cut.total_seconds(), [&](double bound) { return cut.find(bound, limit.bytes); });
  cut.find(optimum, limit.bytes);
  return cut.first();
}

std::vector<int> uniform_partition(int layers, int stages) { return split_evenly(layers, stages); }

}  // namespace parabench::plan
