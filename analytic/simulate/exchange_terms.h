// What a rank exchanges for a stage, as terms of a prediction.
#pragma once

#include "analytic/simulate/term_list.h"

namespace parabench::analytic {

/// The collectives of a lane for the stage: those of its first step, of activations the first of each segment; sums of
/// batch norms' statistics in one line.
void collective_terms(TermList& terms, Rank rank, StageId stage, const plan::Lane& lane);
/// One micro-batch over the stage's boundary, and of each skip that leaves it; stages that the lane also serves have
/// lines of their own.
void message_terms(TermList& terms, Rank rank, StageId stage, const plan::Lane& lane);
/// Gradients on their way to a server, and weights back.
void served_terms(TermList& terms, Rank rank, StageId stage, const plan::Lane& lane);
/// Bytes of gradients over those of what a rank sends in their place, where it compresses them.
void compression_term(TermList& terms, Rank rank, StageId stage);

}  // namespace parabench::analytic
