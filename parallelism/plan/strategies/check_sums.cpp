#include "parallelism/plan/strategies/check_sums.h"

#include <algorithm>
#include <cstdint>

#include "base/case_text.h"
#include "base/compression.h"
#include "base/error.h"
#include "parallelism/plan/strategies/c10d.h"
#include "parallelism/plan/strategies/key_hints.h"
#include "parallelism/plan/strategies/priority.h"

namespace parabench::plan {
namespace {

void check_groups(const Case& spec) {
  if (!spec.shard) return;
  check_positive("shard", *spec.shard);
  if (spec.np % *spec.shard == 0) return;
  const std::set<int> divisors = divisors_of(spec.np);
  std::string text;
  for (const int divisor : divisors) text += (text.empty() ? "" : ", ") + std::to_string(divisor);
  throw usage_error("shard", std::to_string(*spec.shard),
                    "all, or a divisor of np, " + std::to_string(spec.np) + ": " + text,
                    neighbours_hint("shard", *spec.shard, divisors));
}

/// The most columns with which PowerSGD still factors some matrix of the model; 0: no number does.
std::int64_t largest_rank(const models::ModelSpec& model) {
  std::int64_t largest = 0;
  for (const models::LayerSpec& layer : model.layers) {
    for (const models::ParameterSpec& tensor : models::parameters(layer)) {
      const std::int64_t rows = tensor.shape.empty() ? 1 : tensor.shape.front(), columns = tensor.elements() / rows;
      largest = std::max(largest, (rows * columns - 1) / (2 * (rows + columns)));
    }
  }
  return largest;
}

void check_compression(const Case& spec, const models::ModelSpec& model) {
  const Compression by = compression(spec);
  if (!by.is_on()) return;
  const auto refuse = [&](const std::string& expected, const std::string& hint) {
    throw usage_error("compress", to_text(spec.compress), expected, hint);
  };
  if (spec.np == 1) refuse("none with np:1, where nothing is summed", "try np:2, or leave compress out");
  if (spec.device == DeviceKind::cuda)
    refuse("none with device:cuda: gradients are compressed on the processor alone so far", "try device:cpu");
  if (by.kind == CompressionKind::powersgd) {
    if (const std::int64_t most = largest_rank(model); by.rank > most)
      throw usage_error(
          "rank of compress:powersgd", std::to_string(by.rank),
          most == 0 ? "another compression: no matrix of " + model.name +
                          " is sent in fewer bytes by a factorisation, not even with rank 1"
                    : "at most " + std::to_string(most) + ", with which a matrix of " + model.name +
                          ", of n x m, is still factored: (n + m) 2 rank < n m",
          most == 0 ? "try compress:bf16" : "try rank=" + std::to_string(std::min<std::int64_t>(4, most)));
  }
  constexpr std::int64_t most_places = std::int64_t{1} << 31;
  if (by.kind == CompressionKind::topk && models::parameter_count(model) >= most_places)
    refuse("bf16 or powersgd for " + model.name + ", whose places take more than 32 bits", "try compress:powersgd");
}

void check_synchronised(const Case& spec, const models::ModelSpec& model) {
  if (!spec.sync_bn) return;
  const auto refuse = [](const std::string& expected, const std::string& hint) {
    throw usage_error("sync_bn", "on", expected, hint);
  };
  if (!models::mixes_samples(model))
    refuse("off for " + model.name + ", which has no batch norms", "leave sync_bn out");
  if (spec.np == 1) refuse("off with np:1, where one rank has the whole batch", "try np:2, or leave sync_bn out");
  if (compression(spec).is_on())
    refuse("off with compress:" + to_text(spec.compress) + ", whose reference has the statistics of each copy alone",
           "leave sync_bn out, or compress");
}

}  // namespace

void check_reduce(const Case& spec) {
  const auto refuse = [&](const std::string& expected, const std::string& hint) {
    throw usage_error("reduce", to_text(spec.reduce), expected, hint);
  };
  switch (spec.reduce) {
    case ReduceKind::automatic: return;
    case ReduceKind::window:
    case ReduceKind::hierarchical:
      if (spec.comm != CommKind::nccl) return;
      return refuse("auto or library with comm:nccl", "leave reduce out");
    case ReduceKind::library:
      if (spec.comm != CommKind::threads) return;
      if (is_emulated(spec))
        return refuse("auto, ring, halving-doubling or double-tree with device:emulated, which has no library",
                      "leave reduce out");
      return refuse("auto, window or hierarchical with comm:threads, which has no library", "try comm:mpi");
    case ReduceKind::ring:
    case ReduceKind::halving_doubling:
    case ReduceKind::double_tree:
      // Emulated ranks share no more than a model of their links, of which each algorithm has its own.
      if (spec.comm == CommKind::mpi || is_emulated(spec)) return;
      return refuse(spec.comm == CommKind::nccl ? "auto or library with comm:nccl"
                                                : "auto, window or hierarchical with comm:threads, which share memory",
                    "try comm:mpi");
  }
}

void check_sums(const Case& spec, const models::ModelSpec& model) {
  check_groups(spec);
  check_order(spec, model);
  check_reducer(spec);
  check_compression(spec, model);
  check_synchronised(spec, model);
}

void check_scattered(const Case& spec, const models::ModelSpec& model, const Strategy& strategy) {
  if (spec.zero < 2) return;
  const auto refuse = [&](const std::string& expected) {
    throw usage_error("zero", std::to_string(spec.zero), expected, "try zero:1");
  };
  const bool crossed = strategy.schedule.stages == StageOrder::crossed;
  if (spec.zero > 2) {
    throw usage_error(
        "zero", std::to_string(spec.zero),
        std::string(crossed || model.tie ? "0 or 1" : "0, 1 or 2") + " for " + std::string(strategy.name) +
            ": with stage 3 the weights of a stage would have to be gathered for every forward and every "
            "backward of every micro-batch, 2 x micro = " +
            std::to_string(2 * spec.micro) + " times a step; the strategy zero3 gathers them twice, among all ranks",
        std::string("try zero:") + (crossed || model.tie ? "1" : "2") + ", or the strategy zero3");
  }
  if (crossed)
    refuse("0 or 1 for " + std::string(strategy.name) +
           ", whose two directions make a stage's gradients of different micro-batches at the same time");
  if (model.tie)
    refuse("0 or 1 for " + model.name + ", two layers of which share a tensor whose gradients both of them add to");
}

}  // namespace parabench::plan
