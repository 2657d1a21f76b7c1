// Schedules in torch.distributed.pipelining's CSV format: read, planned, and written again.
#include "base/case_id.h"
#include "models/spec/model.h"
#include "parallelism/plan/formats/given_schedule.h"
#include "parallelism/plan/formats/print_csv.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/validate.h"
#include "tests/fuzz/target.h"

namespace parabench::fuzz {
namespace {

void check(const plan::GivenSchedule& given) {
  if (given.stages > 12 || given.micro_batches > 16) return;
  static const models::ModelSpec model = models::make_model({"mlp", {{"layers", "12"}}}, {1, 4, 4}, 10, true);
  Case spec = parse_case("mlp[layers=12]/mnist-synthetic/csv/np:1/batch:32");
  spec.np = static_cast<int>(given.ranks.size());
  spec.micro = given.micro_batches;
  const plan::Profile seconds(std::vector<double>(model.layers.size(), 1.0));
  const auto plan = value_or_error([&] { return plan::make_plan(spec, model, seconds, 1, &given); });
  if (!plan || !plan::validate(*plan).empty()) return;
  const plan::GivenSchedule again = plan::read_csv(plan::to_csv(*plan));
  require(again.sha == given.sha && again.ranks == given.ranks, "a schedule that was written reads as the same one");
}

}  // namespace
}  // namespace parabench::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  const auto given = fuzz::value_or_error([&] { return plan::read_csv(fuzz::as_text(data, size)); });
  if (given) fuzz::check(*given);
  return 0;
}
