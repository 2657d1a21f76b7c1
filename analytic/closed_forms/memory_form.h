// What a rank holds, by closed form: from how the strategy shares states, how many micro-batches its schedule keeps in
// flight, what runs again and what stands for gradients, without a look at the order of operations.
#pragma once

#include <optional>
#include <string>

#include "analytic/costs/memory_model.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// Bytes of one rank, all of them at the same time, which is more than it ever holds: gradients come while activations
/// go.
struct MemoryForm {
  double parameters = 0;       ///< and whole ones that a rank of shares has gathered
  double gradients = 0;        ///< and beside them buckets, messages and what these leave out, those of workers
  double optimizer = 0;        ///< its states, and those of an outer one
  double weight_versions = 0;  ///< beyond the first
  double activations = 0;      ///< of the micro-batches in flight
  int in_flight = 0;           ///< pairs of stage and micro-batch; 0 of a server
  std::string formula;         ///< for people

  double total() const { return parameters + gradients + optimizer + weight_versions + activations; }
};

/// Of a rank that computes:
///  - states as ZeRO counts them (Rajbhandari et al., SC'20), divided among the ranks that share updates: states of the
///    optimizer; with one bucket of gradients at a time, gradients; with weights that come and go, parameters
///  - versions as many as the schedule's rule of weights keeps (Narayanan et al., SOSP'19)
///  - of compressed sums the messages, half of the weights' bytes (bf16), r (n + m) values for a matrix of n x m
///    (powersgd; Vogels et al., NeurIPS'19) or k values with their places of each rank (topk), and of the latter two as
///    many bytes as the weights have for what they leave out
///  - activations: what the row of the schedule has in flight (in_flight.h) of what a stage saves for a micro-batch;
///    stages of pipelines that do not drain have ceil(ranks from here to the end / ranks of the stage) (PipeDream), two
///    pipelines against each other P at most (Li and Hoefler, SC'21)
///  - where forwards run again, the entries of their segments in the place of what these save, and what the largest of
///    them saves once: M a_in + A (Chen et al. 2016, arXiv 1604.06174; Huang et al., NeurIPS'19); with except-last each
///    stage's last micro-batch of a step keeps all that it saves
/// Of a server: weights, gradients and states of what it updates, and room for one run of each worker.
/// States alone are exact. On a chain of equal layers that save more than messages and temporaries take, which are in
/// no formula, the replay counts at most 15 % more, and of the first rank at most 10 % less; other models may differ
/// more. Later ranks, and those of two pipelines against each other, may have less in flight than their row says.
/// nullopt where no formula is known:
///  - schedules from files: how many are in flight is what the file's order makes of it
///  - halves of backwards whose forwards run again: how many pairs wait for the second half alone, for which they keep
///    more than their entry, no row says
std::optional<MemoryForm> memory_form(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory, Rank rank);

}  // namespace parabench::analytic
