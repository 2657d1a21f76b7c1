#include "parallelism/plan/strategies/strategy_table.h"

#include <algorithm>
#include <limits>
#include <string>

#include "parallelism/plan/schedules/all_forwards_first.h"
#include "parallelism/plan/schedules/chimera.h"
#include "parallelism/plan/schedules/dual_pipe_v.h"
#include "parallelism/plan/schedules/in_flight.h"
#include "parallelism/plan/schedules/interleaved.h"
#include "parallelism/plan/schedules/one_forward_one_backward.h"
#include "parallelism/plan/schedules/zero_bubble.h"
#include "parallelism/plan/schedules/zero_bubble_v.h"
#include "parallelism/plan/strategies/c10d.h"
#include "parallelism/plan/strategies/csv_plan.h"
#include "parallelism/plan/strategies/data_parallel.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/horovod.h"
#include "parallelism/plan/strategies/local_sgd.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/strategies/parameters.h"
#include "parallelism/plan/strategies/peer.h"
#include "parallelism/plan/strategies/pipedream.h"
#include "parallelism/plan/strategies/stage_widths.h"

namespace parabench::plan {
namespace {

using Keys = std::vector<std::string_view>;

/// Of every pipeline whose copies reduce their gradients in buckets.
Keys pipeline_keys(const Keys& more = {}) {
  Keys keys = {"micro", "dp", "bucket", "reduce", "partition", "zero"};
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

/// Beyond its type the largest number of it, which no model's layers and no batch reach.
int saturated_product(int a, int b) {
  int product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int>::max() : product;
}

constexpr auto looped = StageOrder::looped, folded = StageOrder::folded, crossed = StageOrder::crossed;

constexpr Makespan one_chunk{"(M + P - 1)(tF + tB)", one_chunk_makespan};

}  // namespace

std::span<const Strategy> strategies() {
  static const std::vector<Strategy> table = {
      {.name = "sequential",
       .family = Family::sequential,
       .summary = "one rank; what every other strategy is compared with",
       .listed = Listed::everywhere,
       .ranks = RankUse::one,
       .write = data_parallel_plan},
      {.name = "data-parallel",
       .family = Family::data_parallel,
       .summary =
           "every rank has the whole model; gradients are summed in buckets beside the backward, as PyTorch's DDP",
       .paper = "Li et al., VLDB'20",
       .listed = Listed::everywhere,
       .ranks = RankUse::replicas,
       .keys = {"bucket", "reduce", "order", "compress", "sync_bn"},
       .write = data_parallel_plan},
      {.name = "c10d",
       .family = Family::data_parallel,
       .summary = "data-parallel by PyTorch's own reducer: hooks of one backward copy gradients into DDP's buckets",
       .paper = "Li et al., VLDB'20",
       .ranks = RankUse::replicas,
       .keys = {"bucket", "reduce"},
       .write = c10d_plan},
      {.name = "horovod",
       .family = Family::data_parallel,
       .summary = "data-parallel whose gradients are fused by what is ready at each look of a coordinator",
       .paper = "Sergeev and Del Balso 2018, arXiv 1802.05799",
       .ranks = RankUse::replicas,
       .keys = {"reduce", "compress", "sync_bn"},
       .parameters = {{"fusion", usual_fusion, fusion_expected, "largest buffer of fused gradients", one_text_of_bytes},
                      {"cycle", usual_cycle, cycle_expected, "from one look to the next", one_text_of_seconds}},
       .write = horovod_plan},
      {.name = "dear",
       .family = Family::data_parallel,
       .summary = "sums in halves: a reduce-scatter beside the backward, an all-gather beside the next forward",
       .paper = "Zhang et al., ICDCS'23, arXiv 2302.12445",
       .ranks = RankUse::replicas,
       .keys = {"bucket", "reduce", "sync_bn"},
       .write = dear_plan},
      {.name = "local-sgd",
       .family = Family::data_parallel,
       .summary = "every rank trains its copy on its share; every few steps the weights are averaged (K-AVG, DiLoCo)",
       .paper = "Stich, ICLR'19, arXiv 1805.09767; Zhou and Cong, IJCAI'18; Douillard et al. 2023, arXiv 2311.08105",
       .ranks = RankUse::replicas,
       .keys = {"bucket", "reduce"},
       .parameters = {{"every", usual_every, every_expected, "steps from one average to the next", one_text_of_number},
                      {"outer", usual_outer, outer_expected, "optimizer that takes a step to the average (DiLoCo)"}},
       .write = local_sgd_plan,
       .uncapturable = "whose steps average weights now and then"},
      {.name = "parameter-server",
       .family = Family::data_parallel,
       .summary = "workers send gradients to servers, which update parts of the weights and send them back",
       .paper = "Li et al., OSDI'14; Ho et al., NIPS'13; Langford et al., NIPS'09; Chen et al. 2016, arXiv 1604.00981",
       .ranks = RankUse::workers,
       .keys = {"bucket"},
       .parameters =
           {{"servers", usual_servers, servers_expected, "ranks, of np, that hold and update the weights",
             one_text_of_number},
            {"cut", usual_cut, cut_expected,
             "what each server has: a range of whole layers, or a share of every bucket"},
            {"mode", usual_mode, mode_expected, "which gradients an update is made of, with which weights"},
            {"k", usual_k, k_expected,
             "with mode=stale: how old the weights are that a step reads; with mode=backup: gradients that an "
             "update does without"}},
       .accepts = "np above servers",
       .write = parameter_server_plan,
       .delay = served_delays},
      {.name = "zero1",
       .family = Family::data_parallel,
       .summary = "data-parallel whose ranks each keep and update a share of the optimizer's states and weights",
       .paper = "Rajbhandari et al., SC'20, arXiv 1910.02054",
       .ranks = RankUse::replicas,
       .keys = {"bucket", "reduce", "shard", "sync_bn"},
       .write = zero1_plan},
      {.name = "zero2",
       .family = Family::data_parallel,
       .summary = "zero1 with room for the gradients of two buckets: each is updated while the backward goes on",
       .paper = "Rajbhandari et al., SC'20, arXiv 1910.02054",
       .ranks = RankUse::replicas,
       .keys = {"bucket", "reduce", "shard", "sync_bn"},
       .write = zero2_plan},
      {.name = "zero3",
       .family = Family::data_parallel,
       .summary =
           "zero2 whose ranks each keep a share of the weights and gather those of a bucket before they are read",
       .paper = "Rajbhandari et al., SC'20, arXiv 1910.02054; Zhao et al., VLDB'23, arXiv 2304.11277",
       .ranks = RankUse::replicas,
       .keys = {"bucket", "reduce", "shard", "prefetch", "reshard", "sync_bn"},
       .write = zero3_plan},
      {.name = "model-parallel",
       .family = Family::model_parallel,
       .summary = "layers spread over ranks, the batch in one piece: one rank computes at a time",
       .listed = Listed::everywhere,
       .keys = {"partition"},
       .schedule = {looped, all_forwards_first, everything_in_flight},
       .makespan = one_chunk},
      {.name = "gpipe",
       .summary = "all forwards, then all backwards",
       .paper = "Huang et al., NeurIPS'19",
       .listed = Listed::everywhere,
       .keys = pipeline_keys(),
       .schedule = {looped, all_forwards_first, everything_in_flight},
       .makespan = one_chunk},
      {.name = "1f1b",
       .summary = "P - 1 - p forwards, then one forward and one backward in turn (PipeDream-Flush, DAPPLE's policy A)",
       .paper = "Narayanan et al., ICML'21",
       .listed = Listed::everywhere,
       .keys = pipeline_keys(),
       .schedule = {looped, one_forward_one_backward, alternating_in_flight},
       .makespan = one_chunk},
      {.name = "dapple",
       .summary = "1f1b after warmup - 2p forwards, by default 2 (P - 1 - p): messages overlap with work (policy B)",
       .paper = "Fan et al., PPoPP'21",
       .listed = Listed::everywhere,
       .keys = pipeline_keys({"warmup"}),
       .accepts = "warmup >= P - 1",
       .refuse = refuse_short_warmup,
       .schedule = {looped, one_forward_one_backward, alternating_in_flight},
       .makespan = one_chunk},
      {.name = "interleaved",
       .summary = "1f1b over several stages per device (Megatron-LM)",
       .paper = "Narayanan et al., SC'21",
       .keys = pipeline_keys({"chunks"}),
       .accepts = "M a multiple of its rounds, max(1, floor(M / P))",
       .refuse = refuse_uneven_rounds,
       .schedule = {looped, interleaved, interleaved_in_flight},
       .makespan = {"M (tF + tB) + (P - 1)(tF + tB) / v for M >= P, (tF + tB)(P + (M - 1) / v) below",
                    interleaved_makespan}},
      {.name = "looped-bfs",
       .summary = "gpipe over several stages per device",
       .paper = "Lamy-Poirier, MLSys'23, arXiv 2211.05953",
       .keys = pipeline_keys({"chunks"}),
       .schedule = {looped, all_forwards_first, everything_in_flight},
       .makespan = {"M (tF + tB) + (P - 1)(tF + tB) / v for M >= P", looped_makespan}},
      {.name = "zb-h1",
       .summary = "backwards in two halves: gradients of weights fill the bubbles, in 1f1b's memory",
       .paper = "Qi et al., ICLR'24, arXiv 2401.10241",
       .keys = pipeline_keys(),
       .schedule = {looped, zero_bubble_h1, h1_in_flight},
       .makespan = {"M t + (P - 1) max(tF, tI, tF + tI - tW) for M >= P", h1_makespan}},
      {.name = "zb-h2",
       .summary = "the same with twice as many in flight: no bubble at all from step to step",
       .paper = "Qi et al., ICLR'24, arXiv 2401.10241",
       .keys = pipeline_keys(),
       .schedule = {looped, zero_bubble_h2, h2_in_flight},
       .makespan = {"M t + (P - 1) max(tF, tF + tI - 2 tW, tI - tF) for M >= 2P - 1", h2_makespan}},
      {.name = "zb-v",
       .summary = "the same on two stages per device in a V: every device holds as much",
       .paper = "Qi et al., ICLR'24, arXiv 2401.10241",
       .keys = pipeline_keys(),
       .fixed_chunks = 2,
       .schedule = {folded, zero_bubble_v, zero_bubble_v_in_flight},
       .makespan = {"M t + (P - 1) tF / 2 for tF = tI = tW and M >= 2P - 1", zero_bubble_v_makespan}},
      {.name = "dualpipev",
       .summary = "split backwards on a folded pipeline, forwards beside backwards",
       .paper = "DeepSeek-AI, github.com/deepseek-ai/DualPipe",
       .keys = pipeline_keys(),
       .fixed_chunks = 2,
       .accepts = "M >= 2 P",
       .refuse = refuse_fewer_than_twice_the_devices,
       .schedule = {folded, dual_pipe_v, dual_pipe_v_in_flight},
       .makespan = {"M (tF + tB) + (P - 1) max(tF, tF + tI - tW) / 2 for tI <= tF <= tB = tI + tW and M >= 2P",
                    dual_pipe_v_makespan}},
      {.name = "chimera",
       .summary = "two pipelines against each other over the same devices",
       .paper = "Li and Hoefler, SC'21",
       .keys = pipeline_keys(),
       .fixed_chunks = 2,
       .accepts = "P and M even",
       .refuse = refuse_odd_halves,
       .schedule = {crossed, chimera, nullptr},
       .makespan = {"(2M + P - 2) tF for tB = tF, (3M + 2P - 4) tF for tB = 2 tF; M = P", chimera_makespan}},
      {.name = "pipedream",
       .family = Family::asynchronous_pipeline,
       .summary = "1f1b on an endless stream of mini-batches; each keeps the weights of its start (weight stashing)",
       .paper = "Narayanan et al., SOSP'19",
       .listed = Listed::everywhere,
       .keys = {"partition"},
       .parameters = {{"replicas", "one rank per stage", replicas_expected, "ranks that share each stage"},
                      {"sync", parabench::to_text(SyncModel{}), "ring, xp, sosp, code",
                       "what replicas=auto pays for a sum"}},
       .write = pipedream_plan,
       .delay = weight_stashing},
      {.name = "pipedream-2bw",
       .family = Family::asynchronous_pipeline,
       .summary = "the same with M micro-batches per update and two weight versions",
       .paper = "Narayanan et al., ICML'21",
       .keys = {"micro", "partition"},
       .accepts = "M >= P - 1",
       .refuse = refuse_a_third_version,
       .write = pipedream_2bw_plan,
       .delay = double_buffering,
       .uncapturable = "whose steps write two weight versions by turns"},
      {.name = "csv",
       .family = Family::given,
       .summary = "what --schedule FILE says, in the format of torch.distributed.pipelining",
       .listed = Listed::nowhere,
       .keys = pipeline_keys(),
       .parameters = {{"sha", "that of the file", "16 hexadecimal digits", "hash of the schedule"}},
       .accepts = "P and M of the file",
       .write = csv_plan,
       .from_file = true},
      {.name = "peer",
       .family = Family::peer,
       .summary =
           "another product trains the same beside ours; its counterpart is the strategy that cuts the work alike",
       .listed = Listed::nowhere,
       .ranks = RankUse::either,
       .keys = {"micro", "chunks", "bucket", "partition"},
       .parameters = {{"product", "none, it has to be named", peer_products_expected,
                       "what is launched, from the Python environment of ./parabench peers"}},
       .accepts = "P and M of its counterpart",
       .write = refuse_peer_plan,
       .uncapturable = "whose steps are another product's"},
  };
  return table;
}

bool Strategy::uses(std::string_view key) const { return std::ranges::find(keys, key) != keys.end(); }

const StrategyParameter* Strategy::find_parameter(std::string_view parameter) const {
  const auto found = std::ranges::find(parameters, parameter, &StrategyParameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

int Strategy::stages(const Case& spec) const {
  if (ranks != RankUse::stages) return 1;
  if (!schedule.order) {
    if (spec.strategy.parameters.empty()) return spec.np;
    return plans_widths(spec) ? 1 : static_cast<int>(stage_widths(spec).size());
  }
  // Crossed pipelines are two over the same devices.
  return saturated_product(spec.np / spec.dp, schedule.stages == StageOrder::crossed ? 1 : chunks(spec));
}

int Strategy::pieces(const Case& spec) const {
  if (ranks == RankUse::replicas) return spec.np;
  if (ranks == RankUse::workers) {
    const Serving by = serving(spec);
    return by.pieces(std::max(1, spec.np - by.servers));
  }
  return saturated_product(uses("micro") ? spec.micro : 1, spec.dp);
}

Pipe Strategy::pipe(const Case& spec) const {
  Pipe pipe{.devices = spec.np / spec.dp, .micro_batches = uses("micro") ? spec.micro : 1, .chunks = chunks(spec)};
  // Its own default, so that the schedule sees a number.
  if (uses("warmup")) pipe.warmup = spec.warmup.value_or(2 * (pipe.devices - 1));
  return pipe;
}

bool Strategy::splits_backwards() const {
  if (!schedule.order) return false;
  // Two devices, four micro-batches: a pipe that every schedule serves.
  const DeviceOrder order = schedule.order({.devices = 2, .micro_batches = 4, .chunks = fixed_chunks}, 0);
  return std::ranges::find(order, OpKind::backward_input, &StagePass::kind) != order.end();
}

int served_micro_batches(const Strategy& strategy, Case spec, int least) {
  for (spec.micro = least; spec.micro < least + 4 * spec.np; ++spec.micro)
    if (!strategy.refuse || !strategy.refuse(strategy.pipe(spec))) return spec.micro;
  return least;
}

const Strategy& find_strategy(std::string_view name) {
  const auto found = std::ranges::find(strategies(), name, &Strategy::name);
  if (found != strategies().end()) return *found;
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) names.emplace_back(strategy.name);
  throw usage_error("strategy", name, "a known strategy", nearest_hint(name, names));
}

}  // namespace parabench::plan
