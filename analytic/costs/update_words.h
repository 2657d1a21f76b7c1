// Words of memory that operations move on weights, gradients and states.
#pragma once

#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Words per parameter that an update by the plan's optimizer moves.
double update_words(const plan::Plan& plan);
/// What this operation moves of them, norms or an update: norms of shares are an operation of their own. Where
/// PyTorch's reducer sums, an update also copies the gradients out of its buckets; one that writes another version of
/// the weights (RankProgram::weight_versions) adds version_words(). Of a step of a compressed sum its words per
/// parameter, without products.
double update_words(const plan::Plan& plan, Rank rank, const plan::Op& op);
/// Words that copying one moves: it is read and written. A processor reads what it writes first, a line of the cache at
/// a time; a GPU writes whole lines.
double copied_words(const Case& spec);
/// Words per parameter that writing another version of the weights moves beyond writing the one that was read: a
/// version is written without having been read, as a copy is.
double version_words(const Case& spec);
/// Words per parameter of a rank's own share that moves before a gather brings the other shares: it is copied to where
/// the whole weights are to come, by plans whose ranks keep but shares of them (Plan::room); else 0.
double gathered_words(const plan::Plan& plan, const plan::Op& collective);
/// Of adding to one, and of replacing it by the mean over ranks, both in place.
inline constexpr double adding_words = 3, averaged_words = 2;
/// Words per parameter that a pass moves once weight gradients are computed: nothing where it starts them
/// (copied_words() where they are then copied into the arena that is reduced), adding_words where it adds to them; 0
/// for passes that make none.
double gradient_words(const plan::Plan& plan, Rank rank, const plan::Op& pass);

}  // namespace parabench::analytic
