// --what-if and --sweep of predict.
#include "base/case_id.h"
#include "suite/run/what_if_option.h"
#include "suite/sweep/swept_cases.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  const auto text = fuzz::as_text(data, size);
  if (const auto what_if = fuzz::value_or_error([&] { return suite::parse_what_if(text); })) {
    std::string printed;
    for (const auto& [name, change] : suite::what_if_texts(*what_if))
      printed += (printed.empty() ? "" : ",") + name + "=" + change;
    fuzz::require(
        printed.empty() || suite::what_if_texts(suite::parse_what_if(printed)) == suite::what_if_texts(*what_if),
        "changes that were printed read as the same changes");
  }
  const Case base = parse_case("mlp/cifar10-synthetic/gpipe/np:2/batch:64");
  const auto cases = fuzz::value_or_error([&] { return suite::swept_cases(base, suite::parse_sweep(text)); });
  if (!cases) return 0;
  fuzz::require(!cases->empty() && cases->size() <= suite::most_swept, "a sweep has cases, and not too many");
  for (const Case& spec : *cases) fuzz::require(parse_case(to_id(spec)) == spec, "swept cases have ids");
  return 0;
}
