// --where: comparisons over the keys of a case.
#include "suite/cases/where.h"

#include <array>

#include "base/case_id.h"
#include "tests/fuzz/target.h"

namespace parabench::fuzz {
namespace {

std::string printed(const suite::Condition& condition) {
  constexpr std::array<const char*, 6> operators = {"=", "!=", "<", "<=", ">", ">="};
  return condition.key + operators[static_cast<std::size_t>(condition.comparison)] + condition.value;
}

void check(const suite::Condition& condition) {
  static const std::array cases = {
      parse_case("resnet18/cifar10-synthetic/1f1b/np:4/batch:64/micro:8/warmup:3/optimizer:adamw"),
      parse_case("mlp[layers=4]/imagenet-synthetic[pixels=32]/sequential/np:1/batch:32"),
  };
  const auto read = suite::parse_where(printed(condition));
  require(read.size() == 1, "a condition that was printed reads as one condition");
  suite::Condition again = read.front();
  // Where all parameters are defaults, mlp[layers=12] prints as mlp, which alone would mean every mlp.
  require(condition.whole || !again.whole, "a condition on a name reads as one on a name");
  again.whole = condition.whole;
  for (const Case& spec : cases)
    require(holds(condition, spec) == holds(again, spec), "printed conditions hold for the same cases");
}

}  // namespace
}  // namespace parabench::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  const auto conditions = fuzz::value_or_error([&] { return suite::parse_where(fuzz::as_text(data, size)); });
  if (!conditions) return 0;
  for (const suite::Condition& condition : *conditions) fuzz::check(condition);
  return 0;
}
