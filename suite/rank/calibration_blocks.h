// What a calibration times, in blocks that a launch does once (calibrate.h) or in turn with steps (paired.h).
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "analytic/calibration/exchange_sizes.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "suite/rank/launch.h"
#include "suite/rank/layer_chain.h"
#include "suite/rank/transfers.h"

namespace parabench::rank {

/// How many steps of a chain of layers are timed: as many as take `budget_s`, within limits.
struct ChainEffort {
  double budget_s = 1.5;
  int least_steps = 5, most_steps = 20, discarded_steps = 2;
  bool measures_bytes = true;  ///< what passes hold that add to gradients, too, where the plan's do
};

/// A step that several ranks make side by side, each by itself: medians over steps.
struct StepSideBySide {
  double mean_s = 0;       ///< of what the ranks took for it
  double deviation_s = 0;  ///< of normal ranks, of which the slowest is as far from the mean as it was: normal_scores()
};
/// Of steps that all ranks made side by side. Collective, with as many steps on each. Precondition: two ranks or more.
StepSideBySide step_side_by_side(comm::Communicator& comm, std::span<const double> steps_s);

/// Times layers and updates in chains of so many samples, on one rank alone and then on all ranks at once: the first of
/// the fullest host, as the plan is placed. Where each host has one rank, a rank is alone on its host anyway, and all
/// at once count. Of several on a host layers have their share of what ranks took for a step in the mean, and deviate
/// by as much as makes the slowest of them as slow as it was (but for replayed ones, in which nobody saw):
/// step_side_by_side(). An update of all ranks at once takes `slowdown` times what it takes on one alone. Collective;
/// on rank 0 `calibration` gets all of it, on the others what is of no use.
void time_chains(const Launch& launch, comm::Communicator& comm, exec::Device& device, LayerChains& chains,
                 const std::vector<int>& samples, const ChainEffort& effort, double slowdown,
                 analytic::Calibration& calibration);

/// update_slowdown() of the launch's parameters, where ranks of a host share its processor; else 1. Chains do not tell
/// it: in a step all ranks update at once, chains that run side by side meet in their passes. Collective.
double slowdown_of_updates(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                           const TransferEffort& effort);

/// What reductions are timed in.
struct ReductionBuffer {
  comm::Arena arena;  ///< empty where the plan reduces nothing
  torch::Tensor own;  ///< what it lies in, where that is not the communicator's
};
/// As large as the largest of the plan's own, and in the communicator's memory if these are. Collective, and to be
/// called once: communicators take no memory back.
ReductionBuffer reduction_buffer(const Launch& launch, comm::Communicator& comm, const exec::Device& device);

/// Times copies to a rank's GPU, on rank 0 alone and then on all ranks at once, of which those of its host count. On
/// the processor nothing. Collective.
void time_copies(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                 analytic::Calibration& calibration);

/// Times the reductions and messages of the plan, of each shape of groups and pair of ranks (calibration_scope), of its
/// own sizes and, where other plans are to be predicted from them, too, of more (exchange_sizes.h). Collective; on rank
/// 0 `calibration` gets all of it.
void time_exchanges(const Launch& launch, comm::Communicator& comm, exec::Device& device, const ReductionBuffer& buffer,
                    analytic::ExchangesOf whose, const TransferEffort& effort, analytic::Calibration& calibration);

}  // namespace parabench::rank
