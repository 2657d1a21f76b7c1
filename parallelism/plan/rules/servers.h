// The rules of a plan about servers that update weights, and about their workers.
#pragma once

#include <vector>

#include "parallelism/plan/rules/rank_updates.h"

namespace parabench::plan {

/// What servers share is cut in one way: each has another part of the same version of the same run.
void check_same_share(const RankUpdates& of, const Op& op, Counted UpdateStep::*member);

/// A server adds what it receives, once; where it takes those that come first, as many as it takes, by rank.
void check_adds(const RankUpdates& of);

/// Each worker that has a part in a step sends each server gradients and receives weights once; a server adds up what
/// one of each replica has sent.
void check_server(const RankUpdates& of, SegmentId s, StepId step, const std::vector<Rank>& sharers);

/// What moves to and from servers that share a run, and what they do, is of their shares of that run.
void check_shares_of_servers(const RankUpdates& of, SegmentId s, StepId step);

}  // namespace parabench::plan
