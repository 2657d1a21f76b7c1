#include "parallelism/exec/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace parabench::exec {
namespace {

// Another order is another draw of the same roundings.
constexpr double order_margin = 3;
// A few nudges are a few draws: another order of summation may be worse by as much.
constexpr double margin = 10;

/// NaN is the largest of all.
std::vector<double> larger(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::isnan(b[i]) || b[i] > a[i]) a[i] = b[i];
  return a;
}

double largest(const torch::Tensor& tensor) { return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>(); }

}  // namespace

double relative_difference(const torch::Tensor& a, const torch::Tensor& b) {
  const double d = largest(a - b), r = largest(b);
  if (!std::isfinite(d) || !std::isfinite(r)) return std::numeric_limits<double>::quiet_NaN();
  if (d == 0) return 0;
  return r == 0 ? std::numeric_limits<double>::infinity() : d / r;
}

double decided_by_order(int copies) { return 0.5 / copies / order_margin; }

OrderTolerance tolerance_of_orders(std::vector<Rounding> by_order, int copies) {
  OrderTolerance result{.decided = std::move(by_order.front())};
  for (std::size_t i = 1; i < by_order.size(); ++i) result.decided = larger_of(std::move(result.decided), by_order[i]);
  const auto take = [&](std::vector<double>& differences) {
    for (double& d : differences) {
      if (!(d < decided_by_order(copies))) continue;
      result.tolerance = std::max(result.tolerance, order_margin * d);
      d = 0;
    }
  };
  std::ranges::for_each(result.decided.updates, take);
  for (auto& rank : result.decided.buffers) std::ranges::for_each(rank, take);
  return result;
}

bool explains(double nudged, double difference) { return std::isfinite(nudged) && difference <= margin * nudged; }

Rounding rounding_between(const ReferenceState& reference, const ReferenceState& nudged, double decides) {
  Rounding result;
  std::int64_t elements = 0, decided_elements = 0;
  for (std::size_t l = 0; l < reference.parameters.size(); ++l) {
    auto& layer = result.updates.emplace_back();
    for (std::size_t p = 0; p < reference.parameters[l].size(); ++p) {
      const torch::Tensor &before = reference.initial[l][p], &after = reference.parameters[l][p];
      layer.push_back(relative_difference(nudged.parameters[l][p] - nudged.initial[l][p], after - before));
      elements += after.numel();
      if (!(layer.back() <= decides)) decided_elements += after.numel();
    }
  }
  for (std::size_t r = 0; r < reference.buffers.size(); ++r) {
    auto& rank = result.buffers.emplace_back();
    for (std::size_t l = 0; l < reference.buffers[r].size(); ++l) {
      auto& layer = rank.emplace_back();
      for (std::size_t b = 0; b < reference.buffers[r][l].size(); ++b)
        layer.push_back(relative_difference(nudged.buffers[r][l][b], reference.buffers[r][l][b]));
    }
  }
  result.decided_elements = elements == 0 ? 0 : static_cast<double>(decided_elements) / static_cast<double>(elements);
  return result;
}

Rounding larger_of(Rounding a, const Rounding& b) {
  for (std::size_t l = 0; l < a.updates.size(); ++l) a.updates[l] = larger(a.updates[l], b.updates[l]);
  for (std::size_t r = 0; r < a.buffers.size(); ++r)
    for (std::size_t l = 0; l < a.buffers[r].size(); ++l) a.buffers[r][l] = larger(a.buffers[r][l], b.buffers[r][l]);
  a.decided_elements = std::max(a.decided_elements, b.decided_elements);
  return a;
}

}  // namespace parabench::exec
