// What a stage's passes, updates and exchanges take, as terms of a prediction.
#pragma once

#include "analytic/simulate/term_list.h"

namespace parabench::analytic {

/// On the first rank that holds the stage: its first passes and its updates, and what it exchanges for them.
void stage_terms(TermList& terms, StageId stage);
/// What the server of a stage does, where it has one; of several that share it the last, whose shares are none smaller.
void server_terms(TermList& terms, StageId stage);

}  // namespace parabench::analytic
