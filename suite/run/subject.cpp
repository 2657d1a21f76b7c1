#include "suite/run/subject.h"

#include <string>

#include "base/error.h"
#include "models/spec/tensor_shard.h"
#include "parallelism/plan/strategies/check_case.h"
#include "suite/run/fitting_model.h"

namespace parabench::suite {

Subject look_up(const Case& spec) {
  datasets::check_input(spec);
  const datasets::DatasetSpec dataset = datasets::make_dataset(spec.dataset);
  return {spec, dataset, make_model_for(spec, dataset), nullptr};
}

Subject look_up(const SelectedCase& chosen) {
  Subject subject = look_up(chosen.spec);
  subject.given = chosen.given;
  return subject;
}

Subject make_subject(const Case& spec) { return make_subject(SelectedCase{.spec = spec}); }

Subject make_subject(const SelectedCase& chosen) {
  Subject subject = look_up(chosen);
  plan::check_case(subject.spec, subject.model, subject.given.get());
  return subject;
}

Subject tensor_subject(const Subject& whole) {
  const int ranks = whole.spec.tp;
  if (whole.spec.np % ranks != 0)
    throw usage_error("tp", std::to_string(ranks), "a divisor of np, " + std::to_string(whole.spec.np));
  Subject shard = whole;
  shard.spec.np /= ranks;
  shard.spec.tp = 1;
  shard.model = models::tensor_shard(whole.model, ranks);
  shard.tensor = ranks;
  return shard;
}

}  // namespace parabench::suite
