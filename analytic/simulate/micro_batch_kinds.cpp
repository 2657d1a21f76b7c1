#include "analytic/simulate/micro_batch_kinds.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace parabench::analytic {
namespace {

/// Schedules that split some backwards alone have two chunks; of more than this all do, or none.
constexpr int last = 60;

std::vector<std::uint64_t> keys_of(const plan::PipelineOutline& outline) {
  const std::vector<int>& pieces = outline.plan.pieces.front();
  const bool leaves_out_last = outline.plan.spec.recompute == Recompute::except_last;
  std::vector<std::uint64_t> keys(pieces.size());
  for (std::size_t m = 0; m < pieces.size(); ++m)
    keys[m] = (m == 0) | (pieces[m] < pieces.front()) << 1 | (leaves_out_last && m + 1 == pieces.size()) << 2;
  return keys;
}

std::vector<std::uint64_t> keys_of(const plan::PipelineOutline& outline, Rank rank) {
  std::vector<std::uint64_t> keys = keys_of(outline);
  for (const plan::StagePass& pass : outline.orders[rank.value])
    if (pass.kind == plan::OpKind::backward) keys[pass.micro_batch] |= std::uint64_t{8} << std::min(pass.chunk, last);
  return keys;
}

}  // namespace

MicroBatchKinds::MicroBatchKinds(const std::vector<std::uint64_t>& keys) {
  std::map<std::uint64_t, int> known;
  for (std::size_t m = 0; m < keys.size(); ++m) {
    if (m > 0 && keys[m] == keys[m - 1]) {
      of_.push_back(of_.back());
      continue;
    }
    const auto [kind, is_new] = known.try_emplace(keys[m], static_cast<int>(known.size()));
    if (is_new) first_.push_back(static_cast<int>(m));
    of_.push_back(kind->second);
  }
}

MicroBatchKinds::MicroBatchKinds(const plan::PipelineOutline& outline) : MicroBatchKinds(keys_of(outline)) {}

MicroBatchKinds::MicroBatchKinds(const plan::PipelineOutline& outline, Rank rank)
    : MicroBatchKinds(keys_of(outline, rank)) {}

bool splits_some(const plan::PipelineOutline& outline, Rank rank) {
  const auto& first = outline.plan.ranks[rank.value].compute();
  return std::ranges::any_of(first, [&](const plan::Op& whole) {
    return whole.kind == plan::OpKind::backward && std::ranges::any_of(first, [&](const plan::Op& part) {
             return part.kind == plan::OpKind::backward_input && part.segment == whole.segment;
           });
  });
}

}  // namespace parabench::analytic
