// --filter: a case id or a regular expression.
#include "base/case_id.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  const std::string id = "transformer[layers=4,hidden=64]/tokens-synthetic[length=32]/gpipe/np:2/batch:8/micro:4";
  fuzz::value_or_error([&] { return filter_matches(fuzz::as_text(data, size), id); });
  return 0;
}
