// What a case is held against before it runs.
#include "suite/run/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/case_id.h"

namespace parabench::suite {
namespace {

const std::string copies = "mlp[layers=2,hidden=512]/cifar10-synthetic/data-parallel/np:4/batch:8";

/// Why the case is skipped where ranks are as `placement` says, on hosts of so much memory that nobody calibrated.
std::string skipped(std::int64_t memory_bytes, const Placement& placement) {
  const Case spec = parse_case(copies);
  const Knowledge knowledge{
      .machine = {.cores = 4, .memory_bytes = memory_bytes, .frequency_hz = 2.5e9, .vector_bits = 256},
      .placements = {{spec.np, placement}}};
  const PrepareOptions options{
      .capabilities = {.devices = {DeviceKind::cpu}, .communicators = {CommKind::mpi}}, .warmup = 1, .steps = 1};
  return prepare({{.spec = spec, .id = to_id(spec)}}, options, knowledge).front().skip;
}

TEST(Prepare, WithoutACalibrationAHostHasToHoldWhatIsCountedOfItsOwnRanks) {
  const Subject subject = look_up(parse_case(copies));
  const Knowledge roomy{{.cores = 4, .memory_bytes = 1LL << 40, .frequency_hz = 2.5e9, .vector_bits = 256}, nullptr};
  const double all = total_bytes(make_forecast(subject, roomy, 1, 1).predicted);
  const auto three_quarters = static_cast<std::int64_t>(0.75 * all);
  EXPECT_THAT(skipped(three_quarters, {}), testing::HasSubstr("of memory, this host has"));
  EXPECT_EQ(skipped(three_quarters, in_blocks(4, 2)), "") << "half of the ranks are on each";
  EXPECT_THAT(skipped(three_quarters / 2, in_blocks(4, 2)), testing::HasSubstr("of memory, this host has"));
}

}  // namespace
}  // namespace parabench::suite
