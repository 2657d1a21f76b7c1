#include "suite/rank/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/cores.h"
#include "base/optimizer.h"
#include "base/statistics.h"
#include "parallelism/comm/timed_exchange.h"
#include "parallelism/exec/stage_state.h"
#include "suite/rank/compute_beside.h"
#include "suite/rank/over_ranks.h"

namespace parabench::rank {
namespace {

/// Before each exchange beside computing its thread sleeps for so long. Before a collective it has swept the caches:
/// meanwhile computing gets back what it needs in them, or it would seem to lose that to the exchange. And a thread
/// that has just had the core gets less of it, as the scheduler shares; in a step one wakes up after a pass or more.
constexpr auto rest = std::chrono::milliseconds(6);

/// The rank's own of each round that counts. `prepare` runs before each transfer, untimed. Collective.
template <class Prepare, class Transfer>
std::vector<Interval> time_rounds(comm::Communicator& comm, const Repeats& repeats, Prepare&& prepare,
                                  Transfer&& transfer) {
  std::vector<Interval> intervals;
  for (int i = 0; i < repeats.warmup + repeats.rounds; ++i) {
    prepare();
    comm.wait(comm.barrier());
    Interval interval{.begin_s = now_s()};
    transfer();
    interval.end_s = now_s();
    if (i >= repeats.warmup) intervals.push_back(interval);
  }
  return intervals;
}

double median_s(const std::vector<Interval>& intervals) {
  std::vector<double> seconds;
  for (const Interval& interval : intervals) seconds.push_back(interval.seconds());
  return median(seconds);
}

/// The rank's own median.
template <class Prepare, class Transfer>
double time_transfer(comm::Communicator& comm, const Repeats& repeats, Prepare&& prepare, Transfer&& transfer) {
  return median_s(time_rounds(comm, repeats, prepare, transfer));
}

/// A point of a curve, as long as its slowest rank takes: while nobody computes and, on the processor, while all ranks
/// do.
template <class Prepare, class Transfer>
analytic::CurvePoint time_point(comm::Communicator& comm, const exec::Device& device, std::int64_t bytes,
                                const TransferEffort& effort, Prepare&& prepare, Transfer&& transfer) {
  analytic::CurvePoint point{
      .bytes = bytes,
      .seconds = largest_of(comm, time_transfer(comm, effort.while_nobody_computes, prepare, transfer))};
  if (!device.where().is_cpu()) return point;
  ComputedBeside own;
  comm.wait(comm.barrier());
  compute_beside([&](const std::atomic<double>& done_s) {
    const auto prepare_and_rest = [&] {
      prepare();
      std::this_thread::sleep_for(rest);
    };
    point.loaded_s = largest_of(comm, time_transfer(comm, effort.while_all_compute, prepare_and_rest, [&] {
                                  const double start = now_s(), done = done_s;
                                  transfer();
                                  own.passed_s += now_s() - start;
                                  own.computed_s += done_s - done;
                                }));
  });
  const std::vector<double> passed = gathered(comm, own.passed_s), computed = gathered(comm, own.computed_s);
  std::vector<ComputedBeside> of_ranks;
  for (std::size_t rank = 0; rank < passed.size(); ++rank) of_ranks.push_back({passed[rank], computed[rank]});
  point.lost_share = lost_share(of_ranks);
  return point;
}

bool on_device(const exec::Device& device) { return !device.where().is_cpu(); }

}  // namespace

analytic::Curve collective_curve(comm::Communicator& comm, const exec::Device& device, const comm::Arena& arena,
                                 comm::CollectiveKind kind, const std::optional<TimedGroup>& group,
                                 const std::vector<std::int64_t>& sizes, const TransferEffort& effort) {
  // In a step a whole backward lies between two sums: what one leaves in the caches is gone before the next. Repeated
  // at once, sums of 40 MB ran at four times the rate that they have in a step of ResNet-18.
  comm::CacheSweep sweep;
  const auto forget = [&] {
    if (!on_device(device)) sweep();
  };
  analytic::Curve curve;
  for (const std::int64_t bytes : sizes) {
    comm::CollectiveCall call{.kind = kind, .buffer = {arena.data, bytes, comm::ElementType::f32, on_device(device)}};
    if (group) call.group = group->id;
    if (group && kind != comm::CollectiveKind::all_reduce) call.shares = comm::Shares::even(bytes, group->members);
    curve.push_back(time_point(comm, device, bytes, effort, forget, [&] {
      if (group) comm.wait(comm.collective(call));
    }));
  }
  return curve;
}

analytic::Curve point_to_point_curve(comm::Communicator& comm, exec::Device& device, const analytic::MessagePair& pair,
                                     const std::vector<std::int64_t>& sizes, const TransferEffort& effort) {
  const comm::MessageLane ping = ping_lane(pair), pong = pong_lane(pair);
  const torch::Tensor buffer = torch::zeros({sizes.back()}, torch::TensorOptions(torch::kUInt8).device(device.where()));
  device.synchronise();
  analytic::Curve curve;
  for (const std::int64_t bytes : sizes) {
    const comm::BufferView view{buffer.data_ptr(), bytes, comm::ElementType::byte, on_device(device)};
    const auto tag = static_cast<std::uint64_t>(bytes);
    const auto there_and_back = [&] {
      if (comm.rank() == ping.from) {
        comm.wait(comm.send(view, ping.to, {ping.channel, tag}));
        comm.wait(comm.recv(view, pong.from, {pong.channel, tag}));
      } else if (comm.rank() == ping.to) {
        comm.wait(comm.recv(view, ping.from, {ping.channel, tag}));
        comm.wait(comm.send(view, pong.to, {pong.channel, tag}));
      }
    };
    const auto at_once = [] {};
    const analytic::CurvePoint both_ways = time_point(comm, device, bytes, effort, at_once, there_and_back);
    curve.push_back({bytes, both_ways.seconds / 2, both_ways.loaded_s / 2, both_ways.lost_share});
  }
  return curve;
}

double update_slowdown(comm::Communicator& comm, exec::Device& device, const Case& spec, std::span<const Rank> host,
                       std::int64_t parameters, const Repeats& repeats) {
  const OptimizerRule rule = optimizer_rule(spec);
  const auto zeros = [&, count = std::min<std::int64_t>(parameters, 1 << 24)] {
    return torch::zeros({count}, torch::TensorOptions(exec::master_type(spec.precision)).device(device.where()));
  };
  exec::UpdateOperands operands{.weights = zeros(), .next = {}, .states = {}, .gradient = zeros(), .update = {}};
  operands.next = operands.weights;
  for (int state = 0; state < state_count(rule); ++state) operands.states[state] = zeros();
  if (find_optimizer(spec.optimizer.name).counts_updates) operands.update = torch::ones({1});
  comm::CacheSweep sweep;
  const auto time_on = [&](bool updates) {
    return time_rounds(comm, repeats, sweep, [&] {
      if (updates) device.update(rule, {operands});
    });
  };
  const std::vector<double> one_s = gathered(comm, median_s(time_on(comm.rank() == host.front())));
  const bool takes_turns = std::ssize(host) * threads_of_operation(spec) > online_cores();
  std::vector<double> all_s;
  for (const Interval& own : time_on(true)) {
    const std::vector<double> begins = gathered(comm, own.begin_s), ends = gathered(comm, own.end_s);
    if (comm.rank() != Rank(0)) continue;
    std::vector<Interval> intervals;
    for (const Rank rank : host) intervals.push_back({begins[rank.value], ends[rank.value]});
    all_s.push_back(at_once_s(intervals, takes_turns));
  }
  // Rank 0 knows those of all.
  const double slowdown = comm.rank() == Rank(0) ? std::max(1.0, median(all_s) / one_s[host.front().value]) : 1;
  return std::stod(comm::all_gather(comm, fmt::format("{}", slowdown))[0]);
}

double copy_rate(exec::Device& device) {
  const std::int64_t bytes = 64 << 20;
  const torch::Tensor from = torch::ones({bytes}, torch::kUInt8).pin_memory();
  const torch::Tensor to = torch::zeros({bytes}, torch::TensorOptions(torch::kUInt8).device(device.where()));
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    device.synchronise();
    const double start = now_s();
    to.copy_(from, /*non_blocking=*/true);
    device.synchronise();
    seconds.push_back(now_s() - start);
  }
  return static_cast<double>(bytes) / median(seconds);
}

double launch_floor(exec::Device& device) {
  constexpr int kernels = 2000;
  const torch::Tensor one = torch::zeros({1}, torch::TensorOptions(torch::kFloat32).device(device.where()));
  const auto launch_all = [&] {
    for (int i = 0; i < kernels; ++i) one.add_(1);
  };
  launch_all();
  const exec::Mark start = device.mark();
  launch_all();
  const exec::Mark end = device.mark();
  device.synchronise();
  return (device.seconds(end) - device.seconds(start)) / kernels;
}

}  // namespace parabench::rank
