#include "analytic/simulate/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "analytic/closed_forms/strategy_forms.h"
#include "analytic/simulate/loading.h"
#include "analytic/simulate/step_parts.h"
#include "base/case_text.h"
#include "base/optimizer.h"
#include "parallelism/plan/passes/statistics.h"
#include "parallelism/plan/strategies/stage_widths.h"

namespace parabench::analytic {
namespace {

/// "all_reduce", "all-reduce".
std::string lower(std::string_view words, char between) {
  std::string text;
  for (const char c : words) text += c == '_' ? between : static_cast<char>(std::tolower(c));
  return text;
}

class Writer {
 public:
  Writer(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time)
      : plan_(plan), sizes_(sizes), time_(time), holders_(plan::holders(plan)), source_(time.source()) {}

  void stage(StageId stage) {
    const Rank rank = holders_[stage.value].front();
    const plan::RankProgram& program = plan_.ranks[rank.value];
    for (const plan::OpKind kind :
         {plan::OpKind::forward, plan::OpKind::recompute, plan::OpKind::backward, plan::OpKind::backward_input,
          plan::OpKind::backward_weight, plan::OpKind::encode, plan::OpKind::project, plan::OpKind::decode,
          plan::OpKind::add, plan::OpKind::norms, plan::OpKind::update, plan::OpKind::average}) {
      pass(rank, stage, kind);
    }
    for (const plan::Lane& lane : program.lanes) {
      if (lane.key.kind == plan::LaneKind::collectives) collectives(rank, stage, lane);
      // Those to the other servers of a stage are alike.
      const bool to_another = plan::served_in_shares(plan_) && lane.key.peer != plan_.servers.back();
      if (lane.key.kind == plan::LaneKind::send && !to_another) messages(rank, stage, lane);
    }
    compressed(rank, stage);
  }

  /// What the server of a stage does, where it has one; of several that share it the last, whose shares are none
  /// smaller.
  void server(StageId stage) {
    if (plan_.servers.empty()) return;
    const Rank rank = plan::servers_of(plan_, stage).back();
    for (const plan::OpKind kind : {plan::OpKind::add, plan::OpKind::norms, plan::OpKind::update})
      pass(rank, stage, kind);
    for (const plan::Lane& lane : plan_.ranks[rank.value].lanes) {
      if (lane.key.kind == plan::LaneKind::collectives) collectives(rank, stage, lane);
      if (lane.key == plan::sends_to(Rank(0), plan::Payload::parameters)) served(rank, stage, lane);
    }
  }

  /// How old the weights are by which an update's gradients are computed: the same for every update but the first ones.
  void staleness(StageId stage) {
    const plan::VersionRule& rule = plan_.versions[stage.value];
    if (rule.lag == 0) return;
    add(fmt::format("staleness[stage {}]", stage.value), rule.lag, "updates",
        "updates between the weights that a step reads and those that its own update changes",
        "the strategy's definition");
  }

  /// PipeDream's price of the plan's stages, and of the alternative to all of them.
  void replication() {
    if (!plan_.asynchronous || !plan_.servers.empty() || plan::micro_batches(plan_) > 1) return;
    const plan::SyncModel sync = plan::sync_model(plan_.spec);
    const plan::ReplicaLink link{time_.link(plan_).bytes_per_s, sync};
    plan::StageLoad whole;
    double period = 0;
    for (StageId stage; stage.value < plan_.stages; ++stage) {
      const plan::StageLoad load = load_of(stage);
      whole.seconds += load.seconds;
      whole.weight_bytes += load.weight_bytes;
      period = std::max(period, plan::stage_period(load, plan_.versions[stage.value].steps_per_update, link));
    }
    const std::string formula = fmt::format("max(compute, weights over {:.3g} bytes/s, sync={}) / replicas, transfers",
                                            link.bytes_per_s, to_text(sync));
    const std::string origin = "PipeDream's planner (SOSP'19, section 3.1)";
    add("planner_period", period, "s", "the slowest stage's " + formula, with_assumption(origin));
    add("data_parallel_period", plan::stage_period(whole, plan_.spec.np, link), "s",
        "one stage on all ranks: " + formula, with_assumption(origin));
  }

  /// What copies of the whole model exchange, beside the backward that may hide it.
  void exchanges_over_backward() {
    if (plan_.stages > 1 || !plan::has_collectives(plan_.ranks[0], plan::Payload::gradients)) return;
    double exchanges = 0, backwards = 0;
    for (const plan::Lane& lane : plan_.ranks[0].lanes) {
      for (const plan::Op& op : lane.ops) {
        // Sums of statistics stand between passes, beside none.
        if (plan::is_collective(op.kind) && !plan::sums_statistics(plan_, op))
          exchanges += time_.seconds(plan_, Rank(0), op, 1);
        if (op.kind == plan::OpKind::backward) backwards += time_.seconds(plan_, Rank(0), op, plan_.spec.np);
      }
    }
    if (backwards > 0)
      add("exchanges_over_backward", exchanges / backwards, "1",
          "collectives one after the other / backwards, T_AR / tB: below 1 the backward could hide all but the last of "
          "them",
          with_assumption("Jayarajan et al., MLSys'19; Peng et al., SOSP'19"));
  }

  /// The slowest loader, where that is known.
  void loading() {
    const std::vector<double> seconds = loading_s(plan_, time_);
    const auto slowest = std::ranges::max_element(seconds);
    if (slowest == seconds.end() || *slowest == 0) return;
    add(fmt::format("loading[rank {}]", slowest - seconds.begin()), *slowest, "s",
        "samples that the rank reads in a step x seconds from sample to sample, beside the step",
        "loaders on their own");
  }

  /// The GPU of the rank that needs most of its memory.
  void device_memory(const MemoryModel& model, std::span<const RankPredicted> ranks) {
    const auto& most =
        *std::ranges::max_element(ranks, {}, [](const RankPredicted& r) { return r.peak_memory.device_used; });
    const MemoryUsage& memory = most.peak_memory;
    if (memory.device_used == 0) return;
    const std::string on = fmt::format("[rank {}]", most.rank.value);
    add("memory_reserved" + on, static_cast<double>(memory.reserved), "bytes",
        fmt::format("{} bytes of tensors in the blocks and segments of torch's caching allocator",
                    memory.total_counted()),
        with_assumption("replay of the plan's allocations"));
    const DeviceOverhead overhead = model.device_overhead(plan_);
    add("memory_device_used" + on, static_cast<double>(memory.device_used), "bytes",
        fmt::format("reserved + context {} + communicator {} + arenas in its memory {}", overhead.context_bytes,
                    overhead.communicator_bytes,
                    memory.device_used - memory.reserved - overhead.context_bytes - overhead.communicator_bytes),
        with_assumption("as calibrated; typical figures where nobody measured them"));
  }

  /// The process that needs most on the processor.
  void resident_memory(const MemoryModel& model, std::span<const RankPredicted> ranks) {
    const auto& most =
        *std::ranges::max_element(ranks, {}, [](const RankPredicted& r) { return r.peak_memory.resident; });
    const MemoryUsage& memory = most.peak_memory;
    if (memory.resident == 0) return;
    const std::int64_t process = model.process_bytes(plan_), counted = memory.total_counted();
    add(fmt::format("memory_resident[rank {}]", most.rank.value), static_cast<double>(memory.resident), "bytes",
        fmt::format("process {} + counted {} + shares of other ranks' arenas {}", process, counted,
                    memory.resident - process - counted),
        "resident less counted in a calibration's first chain of the layers");
  }

  /// What the strategy's formulas say of the rank that holds most and of the busiest one, and what the latter sends.
  void closed_forms(const plan::Plan& counted, const MemoryModel& model, std::span<const RankPredicted> ranks,
                    Rank busiest) {
    const Rank most =
        std::ranges::max_element(ranks, {}, [](const RankPredicted& r) { return r.peak_memory.total_counted(); })->rank;
    if (const auto form = memory_form(counted, sizes_, model, most); form && form->activations > 0)
      add(fmt::format("closed_form_memory[rank {}]", most.value), form->total(), "bytes", form->formula,
          "Rajbhandari et al., SC'20, and the strategy's row; without messages and temporaries");
    const std::string on = fmt::format("[rank {}]", busiest.value);
    add("bytes_sent" + on, sent_bytes(counted, sizes_, busiest), "bytes",
        "messages, and what a ring sends of collectives, per step", "counted over the plan's operations");
    if (const auto form = traffic_form(counted, sizes_, busiest))
      add("closed_form_bytes_sent" + on, form->bytes, "bytes", form->formula, "the strategy's definition");
  }

  void add(std::string name, double value, std::string unit, std::string formula, std::string origin) {
    terms_.push_back({std::move(name), value, std::move(unit), std::move(formula), std::move(origin), source_});
  }
  /// Of what moves over links, which may be another model's than the passes, such as `op`.
  void add_transfer(std::string name, double seconds, std::string formula, std::string origin, Rank rank,
                    const plan::Op& op) {
    const std::string source = time_.link_source();
    if (source == source_) origin = beside(std::move(origin), time_.link_assumption(plan_, rank, op));
    terms_.push_back({std::move(name), seconds, "s", std::move(formula), std::move(origin), source});
  }
  std::vector<Term> take() { return std::move(terms_); }

 private:
  static std::string beside(std::string origin, const std::string& assumption) {
    return assumption.empty() ? origin : fmt::format("{}; {}", origin, assumption);
  }
  std::string with_assumption(std::string origin) const { return beside(std::move(origin), time_.assumption(plan_)); }

  /// A mini-batch through a stage on one of its ranks.
  plan::StageLoad load_of(StageId stage) const {
    const Rank rank = holders_[stage.value].front();
    const auto [first, last] = plan::segments_of(plan_, stage);
    plan::StageLoad load{.weight_bytes = sizes_.parameter_bytes(plan_, first, last.value - first.value + 1)};
    for (SegmentId s = first; s <= last; ++s) {
      const plan::Op there = plan::forward(s, MicroBatchId(0), StepId(0), VersionId(0));
      load.seconds +=
          time_.seconds(plan_, rank, there, plan_.spec.np) +
          time_.seconds(plan_, rank, plan::backward(s, MicroBatchId(0), StepId(0), VersionId(0)), plan_.spec.np);
      if (s == first && stage.value > 0) load.input_bytes = sizes_.input_bytes(plan_, rank, there);
    }
    return load;
  }

  static std::string_view name_of(plan::OpKind kind) {
    switch (kind) {
      case plan::OpKind::forward: return "forward";
      case plan::OpKind::backward: return "backward";
      case plan::OpKind::backward_input: return "backward_input";
      case plan::OpKind::backward_weight: return "backward_weight";
      case plan::OpKind::recompute: return "recompute";
      case plan::OpKind::norms: return "norms";
      case plan::OpKind::update: return "update";
      case plan::OpKind::add: return "add";
      case plan::OpKind::average: return "average";
      case plan::OpKind::encode: return "encode";
      case plan::OpKind::project: return "project";
      case plan::OpKind::decode: return "decode";
      case plan::OpKind::send:
      case plan::OpKind::receive:
      case plan::OpKind::all_reduce:
      case plan::OpKind::reduce_scatter:
      case plan::OpKind::all_gather:
      case plan::OpKind::broadcast: return {};
    }
    return {};
  }

  /// Of the first such pass on the rank's lane: its piece through the whole stage.
  void pass(Rank rank, StageId stage, plan::OpKind kind) {
    const int all = plan::computing_ranks(plan_), busy = std::min(all, ranks_beside(plan_.placement, rank, all));
    const plan::Op* first = nullptr;
    double sum = 0;
    for (const plan::Op& op : plan_.ranks[rank.value].compute()) {
      if (op.kind != kind || plan::stage_of(plan_, op.segment) != stage) continue;
      if (!first) first = &op;
      if (op.step == first->step && op.micro_batch == first->micro_batch) sum += time_.seconds(plan_, rank, op, busy);
    }
    if (!first) return;
    const std::string name = fmt::format("{}[stage {}]", name_of(kind), stage.value);
    if (plan::is_of_compression(kind)) {
      add(name, sum, "s", "words moved for each parameter x seconds per word + products / rate of the model's forwards",
          with_assumption(fmt::format("compress:{}, all buckets", to_text(plan_.spec.compress))));
      return;
    }
    if (kind == plan::OpKind::average || kind == plan::OpKind::add) {
      const bool averages = kind == plan::OpKind::average;
      add(name, sum, "s",
          averages                ? fmt::format("words moved for each parameter x seconds per word, once in {} steps",
                                                plan_.averaging.every)
          : plan_.scatters_pieces ? "words moved for each parameter of a share x seconds per word, one micro-batch"
                                  : "words moved for each parameter x seconds per word, over the workers of an update",
          with_assumption(averages                ? "weights from their sum"
                          : plan_.scatters_pieces ? "shares of a micro-batch's gradients"
                                                  : "gradients that workers sent"));
      return;
    }
    if (kind == plan::OpKind::update || kind == plan::OpKind::norms) {
      add(name, sum, "s", "parameters x seconds per parameter",
          with_assumption(fmt::format("{}, one fused loop", find_optimizer(plan_.spec.optimizer.name).help)));
      return;
    }
    add(name, sum, "s",
        fmt::format("sum over the stage's layers of t_floor + b t_sample, b = {} samples, {} busy ranks",
                    samples_of(plan_, rank, *first), busy),
        with_assumption("per-layer costs, one micro-batch"));
  }

  /// Those of its first step, of activations the first of each segment.
  void collectives(Rank rank, StageId stage, const plan::Lane& lane) {
    if (plan::sums_statistics(plan_, lane.ops.front())) return statistics(rank, stage, lane);
    int bucket = 0;
    for (const plan::Op& op : lane.ops) {
      if (plan::stage_of(plan_, op.segment) != stage) continue;
      if (op.step != lane.ops.front().step || op.micro_batch != lane.ops.front().micro_batch) continue;
      const std::string what = lower(to_text(op.kind), '_');
      const bool by_name = plan::is_of_micro_batch(op.payload) || op.payload == plan::Payload::tied_gradients ||
                           op.payload == plan::Payload::norms || op.payload == plan::Payload::projected ||
                           op.payload == plan::Payload::gradient_shares;
      const std::string_view part = by_name ? to_text(op.payload) : plan_.parts.empty() ? "bucket" : "partition";
      add_transfer(fmt::format("{}[stage {}, {} {}]", what, stage.value, part, bucket++),
                   time_.seconds(plan_, rank, op, 1),
                   fmt::format("T({} bytes, {}), nothing else running", sizes_.payload_bytes(plan_, rank, op),
                               shape_of(op.group)),
                   "in-place " + lower(to_text(op.kind), '-'), rank, op);
    }
  }

  /// The sums of one direction, one line for all of them.
  void statistics(Rank rank, StageId stage, const plan::Lane& lane) {
    int sums = 0;
    std::int64_t bytes = 0;
    double seconds = 0;
    for (const plan::Op& op : lane.ops) {
      if (plan::stage_of(plan_, op.segment) != stage || op.step != lane.ops.front().step ||
          op.micro_batch != lane.ops.front().micro_batch)
        continue;
      ++sums;
      bytes += sizes_.payload_bytes(plan_, rank, op);
      seconds += time_.seconds(plan_, rank, op, 1);
    }
    const bool forward = lane.key.purpose == plan::Payload::activation;
    add_transfer(fmt::format("{}[stage {}]", forward ? "sums_of_statistics" : "sums_of_their_gradients", stage.value),
                 seconds,
                 fmt::format("{} all-reduces of {} bytes in all, {}, which nothing hides: 2 C + 1 numbers of fp64 each",
                             sums, bytes, shape_of(lane.key.group)),
                 "batch norms of C channels, sync_bn:on", rank, lane.ops.front());
  }

  /// Bytes of gradients, and of what a rank sends in their place.
  void compressed(Rank rank, StageId stage) {
    std::int64_t gradients = 0, sent = 0;
    for (const plan::Lane& lane : plan_.ranks[rank.value].lanes) {
      if (!plan::is_compressed(lane.key.purpose)) continue;
      for (const plan::Op& op : lane.ops) {
        if (plan::stage_of(plan_, op.segment) != stage || op.step != lane.ops.front().step) continue;
        const std::int64_t own =
            lane.ops.front().kind == plan::OpKind::all_gather ? std::ssize(plan_.groups[op.group.value].ranks) : 1;
        sent += sizes_.payload_bytes(plan_, rank, op) / own;
        if (op.payload == plan::Payload::encoded) gradients += sizes_.parameter_bytes(plan_, op.segment, op.segments);
      }
    }
    if (sent == 0) return;
    add(fmt::format("compression_ratio[stage {}]", stage.value),
        static_cast<double>(gradients) / static_cast<double>(sent), "1",
        fmt::format("{} bytes of gradients / {} bytes of a rank's messages", gradients, sent),
        fmt::format("compress:{}", to_text(plan_.spec.compress)));
  }

  /// One micro-batch over the stage's boundary, and of each skip that leaves it; stages that the lane also serves have
  /// lines of their own.
  void messages(Rank rank, StageId stage, const plan::Lane& lane) {
    std::set<int> told;
    for (const plan::Op& op : lane.ops) {
      if (plan::is_over_run(op)) return served(rank, stage, lane);
      if (plan::stage_of(plan_, op.segment) != stage || !told.insert(op.port).second) continue;
      const StageId to = plan::stage_of(plan_, plan::other_segment(op, plan_.skips));
      const std::string of = op.port == 0 ? "" : fmt::format(", skip {}", static_cast<int>(op.port));
      add_transfer(fmt::format("message[stage {} to {}{}]", stage.value, to.value, of),
                   time_.seconds(plan_, rank, op, 1),
                   fmt::format("T({} bytes{}), nothing else running", sizes_.payload_bytes(plan_, rank, op),
                               between_hosts(rank, op.peer)),
                   "point to point, one micro-batch", rank, op);
      if (plan_.skips.empty()) return;
    }
  }

  /// Gradients on their way to a server, and weights back.
  void served(Rank rank, StageId stage, const plan::Lane& lane) {
    int bucket = 0;
    for (const plan::Op& op : lane.ops) {
      if (plan::stage_of(plan_, op.segment) != stage || op.step != lane.ops.front().step) continue;
      add_transfer(fmt::format("send_{}[stage {}, bucket {}]", to_text(op.payload), stage.value, bucket++),
                   time_.seconds(plan_, rank, op, 1),
                   time_.shares_links()
                       ? fmt::format("T({} bytes), nothing else running", sizes_.payload_bytes(plan_, rank, op))
                       : fmt::format("T({} bytes{}), the link shared by {}", sizes_.payload_bytes(plan_, rank, op),
                                     between_hosts(rank, op.peer), link_sharers(plan_, op)),
                   "point to point", rank, op);
    }
  }

  std::string shape_of(GroupId group) const {
    return to_text(group_shape(plan_.placement, plan_.groups[group.value].ranks));
  }
  std::string_view between_hosts(Rank from, Rank to) const {
    return on_one_host(plan_.placement, from, to) ? "" : " between hosts";
  }

  const plan::Plan& plan_;
  const Sizes& sizes_;
  const TimeModel& time_;
  std::vector<std::vector<Rank>> holders_;  ///< by stage
  std::string source_;
  std::vector<Term> terms_;
};

}  // namespace

std::vector<Term> terms_of(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory,
                           std::span<const RankPredicted> ranks, double step_s, const plan::Plan& counted) {
  Writer writer(plan, sizes, time);
  for (StageId stage; stage.value < plan.stages; ++stage) {
    writer.stage(stage);
    writer.server(stage);
    writer.staleness(stage);
  }

  const Rank busiest = busiest_rank(ranks);
  const Breakdown& b = ranks[busiest.value].breakdown_s;
  const std::string on = fmt::format("[busiest rank {}]", busiest.value);
  const std::string from = "simulated timeline, mean over the steady steps";
  writer.add("step_forward" + on, b.forward, "s", "sum of its forwards in a step", from);
  writer.add("step_backward" + on, b.backward, "s", "sum of its backwards in a step", from);
  writer.add("step_update" + on, b.update, "s",
             plan::uses(plan, plan::OpKind::norms) ? "sum of its updates, and of the norms that they read, in a step"
             : plan.averaging.every > 0            ? "sum of its updates and averages in a step"
             : plan::uses(plan, plan::OpKind::add) ? "sum of its updates, and of the additions of gradients, in a step"
             : plan::uses(plan, plan::OpKind::encode)
                 ? "sum of its updates, and of what makes gradients smaller and whole again, in a step"
                 : "sum of its updates in a step",
             from);
  writer.add("step_communication_exposed" + on, b.communication_exposed, "s",
             "waiting after the awaited operation has ended elsewhere", from);
  writer.add("step_bubble" + on, b.bubble, "s", "waiting before the awaited operation has ended elsewhere", from);
  double bubbles = 0;
  for (const RankPredicted& r : ranks) bubbles += r.breakdown_s.bubble;
  const double mean_bubble = bubbles / static_cast<double>(ranks.size());
  writer.add("bubble_fraction", step_s > 0 ? mean_bubble / step_s : 0, "1", "mean over ranks of bubble / step time",
             "simulated timeline");
  writer.add(
      "step_time", step_s, "s",
      "median of the steady steps, or what the slowest loader takes where that is more; the breakdown adds up to its "
      "mean",
      "simulated timeline");
  writer.loading();
  writer.replication();
  writer.exchanges_over_backward();
  writer.device_memory(memory, ranks);
  writer.resident_memory(memory, ranks);
  if (plan.ranks.size() > 1) writer.closed_forms(counted, memory, ranks, busiest);
  const double flops = models::training_flops(sizes.model()).value * plan::batch_samples(plan);
  writer.add("flops_per_step", flops, "FLOP", "samples x (forward + backward FLOPs), a multiply-add counts 2",
             "model specification");
  if (step_s > 0) writer.add("flops_per_s", flops / step_s, "FLOP/s", "flops_per_step / step_time", "derived");
  return writer.take();
}

}  // namespace parabench::analytic
