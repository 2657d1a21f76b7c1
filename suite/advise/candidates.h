// Which cases train a model on so many ranks: every strategy of the table with the meshes, numbers of micro-batches and
// kinds of recomputation that it knows.
#pragma once

#include <optional>
#include <vector>

#include "base/case.h"
#include "base/error.h"
#include "models/spec/model.h"

namespace parabench::suite {

struct Candidates {
  std::vector<Case> cases;  ///< possible in themselves (plan::check_meaning), in the order of the table
  int impossible = 0;       ///< others that were looked at
  /// Why the first impossible one is of a strategy that reads all keys of the question; where none does, the first one.
  std::optional<Error> refusal;
};

/// Of `question` model, data set, np, batch and all keys but those below count. Per strategy, those of other products
/// and of schedules from files aside:
///  - copies of the pipeline (dp): every divisor of np that leaves two ranks to a copy
///  - micro-batches: powers of two from half as many as the ranks of a copy to eight times as many, as far as there are
///    samples, and where the strategy does not serve one, the next number that it serves
///  - stages per rank (chunks): 2 and 4
///  - recomputation: none, all, and where a stage's holder has several micro-batches all but the last
///  - where several ranks hold a stage of a pipeline, the optimizer's states whole on each and shared by them (zero 0
///    and 1), unless the question has a `zero` above 0
///  - of pipedream also replicas=auto
/// One rank alone, sequential, is among them.
Candidates candidate_cases(const Case& question, const models::ModelSpec& model);

/// Keys that candidate_cases() chooses, and tp, which candidates_of() does; a question that has one of them, but for a
/// `zero` above 0, would not be a question.
bool is_chosen_key(std::string_view key);

/// Whether its steps are those of sequential training (plan::reference_of): it waits for all gradients, as they are,
/// before weights change, and ranks never train apart.
bool trains_as_sequential(const Case& spec);

}  // namespace parabench::suite
