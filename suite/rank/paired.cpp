#include "suite/rank/paired.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analytic/costs/costs.h"
#include "analytic/simulate/rehearsal.h"
#include "base/clock.h"
#include "base/date.h"
#include "base/statistics.h"
#include "parallelism/comm/gather.h"
#include "parallelism/comm/silent_communicator.h"
#include "parallelism/exec/executor.h"
#include "parallelism/exec/tuning.h"
#include "parallelism/plan/paces.h"
#include "parallelism/plan/strategies/c10d.h"
#include "suite/rank/calibration_blocks.h"
#include "suite/rank/canary.h"
#include "suite/rank/clock.h"
#include "suite/rank/loading.h"
#include "suite/rank/rank_reports.h"

namespace parabench::rank {
namespace {

// A processor's speed wanders within seconds: the shorter a round, the less of that is between its parts, and the more
// rounds there are for the median. What is not computing is a small part of a step, and timed in every fourth round.
constexpr double chain_s = 0.3;  ///< of each chain in a round
constexpr int fewest_chain_steps = 3, most_chain_steps = 10;
constexpr TransferEffort in_every_fourth{.while_nobody_computes = {.rounds = 3, .warmup = 1},
                                         .while_all_compute = {.rounds = 5, .warmup = 1}};
constexpr int rounds_per_transfers = 4;

/// The pieces that the plan computes on; no others are predicted from a round.
std::vector<int> piece_sizes(const plan::Plan& plan) {
  std::set<int> sizes;
  for (const auto& replica : plan.pieces) sizes.insert(replica.begin(), replica.end());
  return {sizes.begin(), sizes.end()};
}

ChainEffort steps_of_chain(int steps) {
  return {.least_steps = steps, .most_steps = steps, .discarded_steps = 1, .measures_bytes = false};
}

/// What time_exchanges() and time_loading() measured.
void copy_transfers(const analytic::Calibration& from, analytic::Calibration& to) {
  to.all_reduce = from.all_reduce;
  to.reduce_scatter = from.reduce_scatter;
  to.all_gather = from.all_gather;
  to.point_to_point = from.point_to_point;
  to.load_s_per_sample = from.load_s_per_sample;
}

/// Whether a rehearsal tells what the order of a rank's operations, and its waiting, leave for them in the caches.
/// Nothing but the plan's order may decide what runs when, what is received are no numbers of fp64, and of weights that
/// others send nothing is known without them. Copies that average weights now and then are chains side by side, and
/// predicted as such.
bool can_rehearse(const plan::Plan& plan) {
  const Case& spec = plan.spec;
  return spec.np > 1 && spec.device == DeviceKind::cpu && spec.precision != Precision::fp64 && !spec.graph &&
         !is_futurized(spec) && !plan::sums_by_reducer(spec) && plan.room.weights == 0 && plan.servers.empty() &&
         plan.averaging.every == 0;
}

/// What rank 0 says. Collective.
int agreed(comm::Communicator& comm, int value) { return std::stoi(comm::all_gather(comm, std::to_string(value))[0]); }

/// Of steps, on rank 0.
struct Trained {
  std::vector<double> step_s;
  Breakdown breakdown_s;  ///< mean over ranks
};

/// Trains one window after another by a plan, on the same state.
class Windows {
 public:
  Windows(const Launch& launch, comm::Communicator& comm, exec::Device& device)
      : launch_(launch),
        comm_(comm),
        device_(device),
        window_(plan::window(launch.plan, launch.command.warmup, launch.command.steps)),
        plan_(plan::unroll(launch.plan, window_.steps())),
        state_(plan_, launch.model, comm, device),
        clock_offset_(clock_offset_s(comm)) {
    if (!device.where().is_cpu()) exec::tune(plan_, launch.model, state_, device, comm.rank());
  }

  /// The steps after those that are discarded. Collective.
  Trained train() {
    const std::optional<plan::Timeline> timeline = run(comm_);
    if (!timeline) return {};
    return {plan::step_samples(plan_, *timeline, first()), mean(plan::breakdowns(plan_, *timeline, first()))};
  }

  /// The same steps, of which ranks hand nothing on, and wait as long as rank 0 reckons from what it calibrated: what
  /// their computing takes, on rank 0. Collective.
  analytic::ComputeSeconds rehearse(const analytic::Calibration& calibration) {
    comm::SilentCommunicator silent(comm_);
    const plan::ExchangeSeconds paces = reckon_paces(calibration);
    const std::optional<plan::Timeline> timeline = run(silent, &paces);
    return timeline ? analytic::compute_seconds(*timeline) : analytic::ComputeSeconds{};
  }

 private:
  StepId first() const { return StepId(window_.discarded); }

  /// This rank's.
  plan::ExchangeSeconds reckon_paces(const analytic::Calibration& calibration) {
    std::vector<plan::ExchangeSeconds> of_ranks;
    if (comm_.rank() == Rank(0)) {
      const analytic::Costs costs = analytic::calibrated_costs(calibration, analytic::Sizes(launch_.model));
      const plan::Timeline timeline = analytic::simulate_free_exchanges(plan_, *costs.time);
      for (Rank rank; rank.value < comm_.size(); ++rank)
        of_ranks.push_back(plan::exchange_seconds(plan_, timeline, rank));
    }
    const std::string told = comm::all_gather(comm_, nlohmann::json(of_ranks).dump())[0];
    return nlohmann::json::parse(told).at(comm_.rank().value).get<plan::ExchangeSeconds>();
  }

  /// Of all ranks, on rank 0.
  std::optional<plan::Timeline> run(comm::Communicator& between, const plan::ExchangeSeconds* paces = nullptr) {
    exec::RankInput input = exec::open_input(plan_, comm_.rank(), launch_.source, launch_.input, device_);
    comm_.wait(comm_.barrier());
    const exec::Execution execution =
        exec::execute(plan_, launch_.model, state_, between, input, device_, first(), paces);
    const auto reports = gather_reports(comm_, report(comm_.rank(), execution.spans, clock_offset_, device_.name()));
    return comm_.rank() == Rank(0) ? std::optional(timeline_of(reports)) : std::nullopt;
  }

  const Launch& launch_;
  comm::Communicator& comm_;
  exec::Device& device_;
  plan::Window window_;
  plan::Plan plan_;
  exec::StageState state_;
  double clock_offset_;
};

}  // namespace

protocol::PairedRounds pair(const Launch& launch, comm::Communicator& comm, exec::Device& device) {
  const double begin = now_s();
  CanaryWatch canary(launch.plan.spec, comm);
  Windows windows(launch, comm, device);
  const ReductionBuffer buffer = reduction_buffer(launch, comm, device);
  LayerChains chains(launch, device, launch.plan.segments);
  const std::vector<int> samples = piece_sizes(launch.plan);
  analytic::Calibration warm_up;
  warm_up.machine = launch.machine;
  time_chains(launch, comm, device, chains, samples, steps_of_chain(1), /*slowdown=*/1, warm_up);
  windows.train();
  Trained before = windows.train();
  const int chain_steps = comm.rank() == Rank(0) ? std::clamp(static_cast<int>(chain_s / median(before.step_s)),
                                                              fewest_chain_steps, most_chain_steps)
                                                 : 0;
  const ChainEffort effort = steps_of_chain(agreed(comm, chain_steps));
  const bool rehearses = can_rehearse(launch.plan);
  analytic::Calibration transfers;
  double slowdown = 1;
  protocol::PairedRounds answer;
  double transfers_s = 0, longest_s = 0;  // of what every fourth round has alone, and of what all have
  for (int round = 0;; ++round) {
    const double start = now_s();
    const bool times_transfers = round % rounds_per_transfers == 0;
    const double end = start + longest_s + (times_transfers ? transfers_s : 0);
    const bool goes_on = round < protocol::fewest_paired_rounds ||
                         (round < protocol::most_paired_rounds && end - begin < protocol::paired_launch_s);
    if (agreed(comm, goes_on) == 0) break;
    if (times_transfers) {
      slowdown = slowdown_of_updates(launch, comm, device, in_every_fourth);
      time_exchanges(launch, comm, device, buffer, analytic::ExchangesOf::plan, in_every_fourth, transfers);
      time_loading(launch, comm, samples.front(), transfers);
      transfers_s = now_s() - start;
    }
    const double common_start = now_s();
    analytic::Calibration calibration;
    calibration.machine = launch.machine;
    canary.between();
    time_chains(launch, comm, device, chains, samples, effort, slowdown, calibration);
    canary.between();
    copy_transfers(transfers, calibration);
    analytic::ComputeSeconds rehearsed_s;
    if (rehearses) rehearsed_s = windows.rehearse(calibration);
    calibration.date = utc_now();
    const Trained after = windows.train();
    if (comm.rank() == Rank(0)) {
      std::vector<double> step_s = before.step_s;
      step_s.insert(step_s.end(), after.step_s.begin(), after.step_s.end());
      answer.rounds.push_back({std::move(calibration), std::move(step_s),
                               mean(std::array{before.breakdown_s, after.breakdown_s}), std::move(rehearsed_s)});
    }
    before = after;
    longest_s = std::max(longest_s, now_s() - common_start);
  }
  answer.canary = canary.end();
  return answer;
}

}  // namespace parabench::rank
