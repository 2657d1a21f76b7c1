// Passes from plan to plan: what happens to gradients, and what is computed twice.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// One run per stage, in backward order.
std::vector<SegmentRun> whole_stages(const Plan& plan);

/// Runs of gradients in backward order, never across stages. A run of so many bytes ends where `ends_before` the next
/// segment says so, which is asked for every segment in turn; segments without parameters at the end of a stage join
/// the run before them.
std::vector<SegmentRun> gradient_runs(const Plan& plan, std::span<const Bytes> segment_bytes,
                                      const std::function<bool(Bytes, SegmentId)>& ends_before);

/// Buckets of gradients in backward order, never across stages. A bucket closes when its size reaches `limit` (PyTorch
/// DDP's rule, so it may overshoot); leading segments of a stage without parameters join the bucket before them.
std::vector<SegmentRun> buckets(const Plan& plan, std::span<const Bytes> segment_bytes, Bytes limit);

/// Passes over plans of one step, in the order given. The first three append to each rank, in the order given, an
/// operation for every run of its stages; only stages with several holders are reduced, each in a group of its own.
Plan add_reductions(Plan plan, std::span<const SegmentRun> runs);
Plan add_updates(Plan plan, std::span<const SegmentRun> runs);
/// Both.
Plan add_reduced_updates(Plan plan, std::span<const SegmentRun> runs);
struct RunPart {
  SegmentRun run;
  int part = 0;  ///< from 1 on; 0: the run is not cut
};
/// Both, sums in the order of `parts`, which has each part (Plan::parts, set before) of each run once. Updates are late
/// (Plan::updates_late).
Plan add_ordered_sums(Plan plan, std::span<const RunPart> parts, std::span<const SegmentRun> runs);
/// Appends to the last step of a plan whose holders update their weights each for itself, for every run of several
/// holders: the sum of its weights, and the average that is made of it.
Plan add_averages(Plan plan, std::span<const SegmentRun> runs);
/// In place of both, ZeRO's stage 1 (Rajbhandari et al. 2020): the holders of a run get each its share of the summed
/// gradients, update this share of the parameters and gather those of the others. Runs of one holder are updated whole.
/// Where the optimizer reads norms of whole tensors, what each share adds to them is summed before. `gathered`: the
/// same runs in the order in which they are gathered. `sharers`: neighbouring holders that divide a run among
/// themselves, a divisor of their number above 1 (0: all of them); shares are then summed between such groups (FSDP's
/// HYBRID_SHARD).
Plan add_sharded_updates(Plan plan, std::span<const SegmentRun> runs, std::span<const SegmentRun> gathered,
                         int sharers = 0);

// Passes over plans with sharded updates, of one stage and one micro-batch.
/// The gradients that are reduced, and those that the backward makes meanwhile: the room of strategies with ZeRO's
/// stage 2.
inline constexpr int gradient_buffers = 2;
/// ZeRO's stage 2: room for the gradients of so many runs at a time. Every run is updated as late as this allows,
/// before the backward makes the gradients that take its place.
Plan limit_gradients(Plan plan, int room);
/// ZeRO's stage 3: room for the whole weights of so many runs at a time. In place of gathers after the updates, every
/// run is gathered before its forwards, and once more before its backwards where another one has taken its place.
Plan limit_weights(Plan plan, int room);

/// Pass: marks the weight gradients, and what servers and shares add, that come on top of earlier ones of the same
/// update. For plans of any window.
Plan mark_accumulation(Plan plan);

/// Pass: forwards of these micro-batches keep their input alone and run again directly before their backward, so that
/// nothing which the plan waits for comes between. except_last leaves out each stage's last micro-batch of a step,
/// whose backward follows at once in most schedules (torchgpipe's default).
Plan add_recompute(Plan plan, Recompute which);
/// The same for all micro-batches of the segments whose entry is true; what `automatic` leaves to those who know bytes
/// and seconds.
Plan add_recompute(Plan plan, const std::vector<bool>& segments);

}  // namespace parabench::plan
