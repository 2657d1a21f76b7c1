// Tables of published measurements, in CSV: read and judged.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analytic/validation/judge.h"
#include "analytic/validation/judgement_text.h"
#include "analytic/validation/read_facts.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  const auto facts = fuzz::value_or_error([&] { return analytic::read_facts(fuzz::as_text(data, size), "table"); });
  // Fits on many rows are the same code again and, by the hundred, slow.
  if (!facts || facts->size() > 30) return 0;
  const auto judgements = fuzz::value_or_error([&] { return analytic::judge(*facts); });
  if (!judgements) return 0;
  std::size_t judged = 0, named = 0;
  for (const analytic::Judgement& judgement : *judgements) {
    judged += judgement.tests.size();
    fuzz::require(std::isfinite(judgement.mean) && judgement.median <= judgement.max, "errors are numbers in order");
    fuzz::require(judgement.rank_correlation.value_or(0) < 1 + 1e-9, "a correlation is one");
  }
  for (const analytic::Fact& fact : *facts) named += fact.use == analytic::Use::test ? fact.models.size() : 0;
  fuzz::require(judged == named, "each test row is judged by each of its models");
  fuzz::require(!analytic::judgements_text(*judgements).empty(), "judgements print");
  fuzz::require(analytic::judgements_json(*judgements).size() == judgements->size(), "all of them");
  return 0;
}
