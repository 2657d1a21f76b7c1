// Plans of the table's rows on layers whose shares are equal.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {

/// Layers of 64 x 64 weights.
inline models::ModelSpec wide_chain(int layers) {
  models::ModelSpec model{.name = "chain", .input = {64, 2, 2}, .classes = 64, .layers = {}};
  for (int i = 0; i < layers; ++i) {
    std::string name = "l";
    name += std::to_string(i);
    model.layers.push_back(
        models::chain(name, {{name + ".conv", models::Conv2d{.in = 64, .out = 64}}, {name + ".relu", models::Relu{}}}));
  }
  return model;
}
inline constexpr double wide_layer_bytes = 64 * 64 * 4;

inline plan::Plan wide_plan(const Case& spec, int layers, int steps) {
  return plan::make_plan(spec, wide_chain(layers), std::vector<double>(layers, 1.0), steps);
}

using Change = std::function<void(Case&)>;

/// The plan of a row on 16 layers, changed by `change`; none where that is refused, nor of one rank and of rows that
/// stand for others.
inline std::optional<plan::Plan> wide_plan_of(const plan::Strategy& row, const Change& change) {
  if (row.from_file || row.family == plan::Family::peer || row.ranks == plan::RankUse::one) return std::nullopt;
  Case spec = case_of(std::string(row.name), 4, 16);
  if (row.uses("micro")) spec.micro = 8;
  if (row.uses("partition")) spec.partition = PartitionRule::uniform;
  if (row.uses("bucket")) spec.bucket = Bytes(1);
  change(spec);
  try {
    return wide_plan(spec, 16, 12);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What some rows accept.
inline std::vector<Change> row_changes() {
  return {
      [](Case&) {},
      [](Case& spec) { spec.dp = 2; },
      [](Case& spec) { spec.dp = 2, spec.zero = 1; },
      [](Case& spec) { spec.dp = 2, spec.zero = 2; },
      [](Case& spec) { spec.shard = 2; },
      [](Case& spec) { spec.reshard = false; },
      [](Case& spec) { spec.shard = 2, spec.reshard = false; },
      [](Case& spec) { spec.compress.name = "bf16"; },
      [](Case& spec) { spec.compress.name = "powersgd"; },
      [](Case& spec) { spec.compress.name = "topk"; },
      [](Case& spec) { spec.batch = 32, spec.recompute = Recompute::all; },
      [](Case& spec) { spec.batch = 32, spec.recompute = Recompute::except_last; },
      [](Case& spec) { spec.batch = 32, spec.dp = 2, spec.recompute = Recompute::all; },
      [](Case& spec) {
        spec.strategy.parameters = {{"servers", "2"}};
      },
      [](Case& spec) {
        spec.strategy.parameters = {{"servers", "2"}, {"cut", "tensors"}};
      },
      [](Case& spec) {
        spec.strategy.parameters = {{"mode", "async"}};
      },
      [](Case& spec) {
        spec.strategy.parameters = {{"mode", "stale"}, {"k", "2"}};
      },
      [](Case& spec) {
        spec.batch = 18, spec.strategy.parameters = {{"mode", "backup"}, {"k", "1"}};
      },
  };
}

/// Calls `visit` with each row, the number of each change and the wide_plan_of() both, and expects it to hold at least
/// once of every row that stands for itself on several ranks.
template <class Visit>
void expect_of_every_row(Visit visit) {
  const std::vector<Change> changes = row_changes();
  int rows = 0;
  for (const plan::Strategy& row : plan::strategies()) {
    bool holds = false;
    for (std::size_t c = 0; c < changes.size(); ++c)
      if (const auto plan = wide_plan_of(row, changes[c])) holds = visit(row, c, *plan) || holds;
    if (holds) ++rows;
  }
  EXPECT_EQ(rows, std::ssize(plan::strategies()) - 3) << "all but one rank, and those that stand for others";
}

}  // namespace parabench::analytic
