#include "analytic/calibration/hold_out.h"

#include <algorithm>
#include <set>

#include "analytic/calibration/measured.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {
namespace {

std::ptrdiff_t points(const std::vector<LayerTiming>& timings, Measured what) {
  return std::ranges::count_if(timings, [what](const LayerTiming& one) { return tells(one, what); });
}

}  // namespace

std::optional<Calibration> without_own_samples(const Calibration& calibration, const Sizes& sizes,
                                               const plan::Plan& plan) {
  std::set<int> own;
  for (const auto& replica : plan.pieces) own.insert(replica.begin(), replica.end());
  const Measured needed = plan::uses(plan, plan::OpKind::backward_input) ? Measured::halves : Measured::pass;
  Calibration left = calibration;
  for (int l = 0; l < std::ssize(sizes.model().layers); ++l) {
    const std::string layer = layer_key(sizes.signature(l), l == 0, plan.spec, 1).layer;
    for (auto at = left.layers.lower_bound({.layer = layer, .busy_ranks = 0});
         at != left.layers.end() && at->first.layer == layer; ++at)
      std::erase_if(at->second, [&](const LayerTiming& one) { return own.contains(one.samples); });
    for (const int busy : std::set<int>{1, competing_ranks(plan.spec, plan.placement)}) {
      const LayerKey key = layer_key(sizes.signature(l), l == 0, plan.spec, busy);
      const auto before = calibration.layers.find(key);
      if (before == calibration.layers.end()) continue;
      if (points(left.layers.at(key), needed) < 2 && points(before->second, needed) > 0) return std::nullopt;
    }
  }
  // Other cases' keys of these layers.
  std::erase_if(left.layers, [](const auto& entry) { return entry.second.empty(); });
  return left;
}

}  // namespace parabench::analytic
