#include "parallelism/plan/strategies/peer.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/case_id.h"
#include "base/case_key.h"
#include "base/case_text.h"
#include "base/enum_text.h"
#include "base/error.h"
#include "parallelism/plan/strategies/key_hints.h"

namespace parabench::plan {
namespace {

constexpr std::array<PeerProduct, 11> products = {{
    {"torch-ddp", "torch.nn.parallel.DistributedDataParallel on Gloo", "data-parallel"},
    {"horovod", "horovod.torch.DistributedOptimizer on Gloo", "horovod"},
    {"deepspeed-zero1", "deepspeed.initialize with zero_optimization stage 1", "zero1"},
    {"deepspeed-zero2", "deepspeed.initialize with zero_optimization stage 2", "zero2"},
    {"deepspeed-zero3", "deepspeed.initialize with zero_optimization stage 3", "zero3"},
    {"fsdp2", "torch.distributed.fsdp.fully_shard of each layer and of the whole", "zero3"},
    {"torch-gpipe", "torch.distributed.pipelining.ScheduleGPipe", "gpipe", true},
    {"torch-1f1b", "torch.distributed.pipelining.Schedule1F1B", "1f1b", true},
    {"torch-interleaved", "torch.distributed.pipelining.ScheduleInterleaved1F1B", "interleaved", true},
    {"torch-zbv", "torch.distributed.pipelining.ScheduleZBVZeroBubble", "zb-v", true},
    {"torchgpipe", "torchgpipe.GPipe, whose stages are threads of one process", "gpipe", true, true},
}};

/// Keys of every case whose default alone the products are trained with: what others mean by them is not what we do.
constexpr std::array<std::string_view, 9> keys_of_ours = {"recompute", "memory", "device",    "comm",    "graph",
                                                          "loader",    "input",  "optimizer", "executor"};

void require_defaults(const Case& spec) {
  for (const CaseKey& key : case_keys()) {
    if (std::ranges::find(keys_of_ours, key.name) == keys_of_ours.end() || has_default(spec, key)) continue;
    refuse_value(spec, key, " for " + to_text(spec.strategy) + ", which is another product",
                 "leave " + std::string(key.name) + " out");
  }
}

}  // namespace

std::span<const PeerProduct> peer_products() { return products; }

bool is_peer(const Case& spec) { return spec.strategy.name == "peer"; }

const PeerProduct& find_peer_product(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PeerProduct& product : products) names.push_back(product.name);
  return products.at(index_of_name("product of peer", name, names));
}

const PeerProduct& peer_product(const Case& spec) {
  for (const auto& [parameter, value] : spec.strategy.parameters)
    if (parameter == "product") return find_peer_product(value);
  throw usage_error("strategy", to_text(spec.strategy), "a product in brackets",
                    "try peer[product=" + std::string(products.front().name) + "]");
}

Case counterpart(const Case& spec) {
  Case ours = spec;
  ours.strategy = {std::string(peer_product(spec).counterpart), {}};
  return ours;
}

void check_peer(const Case& spec, const models::ModelSpec& model) {
  const PeerProduct& product = peer_product(spec);
  require_defaults(spec);
  const CaseKey& bucket = find_case_key("bucket");
  if (product.name != "torch-ddp" && !has_default(spec, bucket)) {
    refuse_value(spec, bucket, " for " + std::string(product.name) + ", which has no such buckets", "leave bucket out");
  }
  if (!product.pipelined) return;
  const std::string name(product.name);
  const auto passes_by = [](const models::LayerSpec& layer) { return !layer.takes.empty() || !layer.makes.empty(); };
  if (model.tie || std::ranges::any_of(model.layers, passes_by)) {
    throw usage_error("model", model.name,
                      "a chain for " + name + ", whose stages pass on one tensor: here layers share " +
                          (model.tie ? "a tensor of weights" : "activations with later ones"),
                      "try peer[product=torch-ddp]");
  }
  if (spec.batch % spec.micro != 0) {
    throw usage_error("batch", std::to_string(spec.batch),
                      "a multiple of micro, " + std::to_string(spec.micro) + ", for " + name +
                          ", whose micro-batches are of one size",
                      "try batch:" + std::to_string((spec.batch / spec.micro + 1) * spec.micro));
  }
  if (spec.layout == Layout::channels_last && !product.one_process) {
    throw usage_error("layout", "channels_last",
                      "contiguous for " + name + ", which sends no other activations by Gloo", "leave layout out");
  }
}

Plan refuse_peer_plan(const StrategyInput& input) {
  throw usage_error("strategy", to_text(input.spec.strategy),
                    "a strategy of ours: other products are measured, but neither planned nor predicted",
                    "try " + to_id(counterpart(input.spec)));
}

}  // namespace parabench::plan
