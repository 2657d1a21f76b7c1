#include "suite/communicate/exchange_rows.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "suite/communicate/exchange_launches.h"

namespace parabench::suite {
namespace {

using results::ExchangeRecord;
using results::Status;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

CommunicateOptions options() {
  CommunicateOptions two;
  two.np = 4;
  two.sizes = "1KiB:4KiB:4";
  two.reduce = {ReduceKind::automatic, ReduceKind::ring};
  return two;
}

std::vector<std::string> ids(const std::vector<ExchangeRecord>& rows) {
  std::vector<std::string> all;
  for (const ExchangeRecord& row : rows) all.push_back(row.id);
  return all;
}

TEST(ExchangeRows, ComeBySizeThenAlgorithm) {
  EXPECT_THAT(
      ids(exchange_rows(options())),
      ElementsAre("communicate/all-reduce/auto/np:4/bytes:1024", "communicate/all-reduce/ring/np:4/bytes:1024",
                  "communicate/all-reduce/auto/np:4/bytes:4096", "communicate/all-reduce/ring/np:4/bytes:4096"));
}

TEST(ExchangeRows, MessagesComeOnceWhateverTheAlgorithms) {
  CommunicateOptions messages = options();
  messages.kinds = {ExchangeKind::ping_pong};
  messages.groups = {2, 4};
  EXPECT_THAT(
      ids(exchange_rows(messages)),
      ElementsAre("communicate/ping-pong/np:4/bytes:1024/group:2", "communicate/ping-pong/np:4/bytes:4096/group:2",
                  "communicate/ping-pong/np:4/bytes:1024", "communicate/ping-pong/np:4/bytes:4096"));
}

TEST(ExchangeRows, OfWhatTheCommunicatorLacksAreSkippedWithTheReason) {
  CommunicateOptions threads = options();
  threads.comm = CommKind::threads;
  threads.sizes = "4096";
  auto rows = exchange_rows(threads);
  predict(rows, nullptr);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].prediction, "");
  EXPECT_EQ(rows[0].status, Status::ok);
  EXPECT_EQ(rows[1].status, Status::skipped);
  EXPECT_THAT(rows[1].reason, AllOf(HasSubstr("'ring'"), HasSubstr("comm:threads")));
  EXPECT_EQ(exchange_launches(rows, threads).size(), 1u);
}

TEST(ExchangeRows, SayHowToMeasureThemAgain) {
  CommunicateOptions other = options();
  other.groups = {2};
  other.precision = Precision::fp64;
  other.run.stopping.repetitions = 3;
  EXPECT_EQ(
      exchange_rows(other).back().reproduce,
      "parabench communicate --np 4 --collective all-reduce --sizes 4KiB --iterations 20 --warmup 5 --reduce ring "
      "--groups 2 --precision fp64 --repetitions 3");
}

TEST(ExchangeLaunches, AreOneForEachAlgorithm) {
  CommunicateOptions mixed = options();
  mixed.kinds = {ExchangeKind::all_reduce, ExchangeKind::send_receive};
  const auto rows = exchange_rows(mixed);
  const auto launches = exchange_launches(rows, mixed);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].work.setting.reduce, ReduceKind::automatic);
  EXPECT_THAT(launches[0].rows, ElementsAre(0, 2, 4, 5));  // messages are of auto
  EXPECT_THAT(launches[1].rows, ElementsAre(1, 3));
  EXPECT_EQ(launches[1].work.exchanges[1], rows[3].exchange);
}

TEST(Timings, OfSeveralLaunchesAreTakenTogether) {
  CommunicateOptions one;
  one.sizes = "1000";
  auto rows = exchange_rows(one);
  const Canary quiet{1e-4, 5e-3, 0.0, 3}, busy{1.25e-4, 6e-3, 0.25, 40};
  take_timings(rows, std::vector<std::size_t>{0}, {{{"window", {1e-6, 3e-6}, ""}}, "", quiet}, 2);
  take_timings(rows, std::vector<std::size_t>{0}, {{{"window", {2e-6, 5e-6}, ""}}, "", busy}, 2);
  const ExchangeRecord& row = rows[0];
  EXPECT_EQ(row.algorithm, "window");
  ASSERT_TRUE(row.time_s);
  EXPECT_EQ(row.time_s->samples.size(), 2u);
  EXPECT_THAT(row.canaries, ElementsAre(quiet, busy));
  EXPECT_DOUBLE_EQ(row.time_s->median, 2.5e-6);
  EXPECT_DOUBLE_EQ(row.time_s->p25, 1.75e-6);
  EXPECT_DOUBLE_EQ(row.time_s->p75, 3.5e-6);
  EXPECT_DOUBLE_EQ(*results::algorithm_bandwidth(row), 4e8);
  EXPECT_DOUBLE_EQ(*results::bus_bandwidth(row), 4e8);  // of two ranks: 2 (2-1)/2
}

TEST(Timings, AWrongValueFailsTheRowForGood) {
  CommunicateOptions one;
  one.sizes = "1000";
  auto rows = exchange_rows(one);
  const Canary canary{1e-4, 5e-3, 0.0, 3};
  take_timings(rows, std::vector<std::size_t>{0}, {{{"window", {1e-6}, ""}}, "", canary}, 1);
  const std::string wrong = "iteration 0, rank 1: element 3 is 2";
  take_timings(rows, std::vector<std::size_t>{0}, {{{"window", {1e-6}, wrong}}, "", canary}, 1);
  EXPECT_EQ(rows[0].status, Status::failed);
  EXPECT_THAT(rows[0].reason, HasSubstr("a wrong value: iteration 0, rank 1"));
  EXPECT_FALSE(rows[0].time_s);
  EXPECT_TRUE(rows[0].canaries.empty()) << "they are of the samples";
  EXPECT_TRUE(exchange_launches(rows, one).empty());
}

TEST(Timings, OfOtherExchangesAreRefused) {
  CommunicateOptions one;
  one.sizes = "1000";
  auto rows = exchange_rows(one);
  const std::vector<std::size_t> indices = {0};
  EXPECT_THROW(take_timings(rows, indices, {}, 1), Error);
  EXPECT_THROW(take_timings(rows, indices, {{{"window", {1e-6}, ""}}}, 2), Error);
}

TEST(Predictions, ComeFromTheCurvesThatPlansUse) {
  analytic::Calibration known;
  known.all_reduce[{"mpi", 4}] = {{1000, 1e-5}, {101'000, 2e-5}};
  known.reduce_scatter[{"mpi", 4}] = {{1000, 1e-5}, {51'000, 3e-5}};
  known.point_to_point[{"mpi", 4}] = {{1000, 3e-6}, {101'000, 5e-6}};
  CommunicateOptions all;
  all.np = 4;
  all.sizes = "51000";
  all.kinds = {ExchangeKind::all_reduce, ExchangeKind::all_gather, ExchangeKind::ping_pong,
               ExchangeKind::reduce_scatter};
  auto rows = exchange_rows(all);
  predict(rows, &known);
  EXPECT_DOUBLE_EQ(rows[0].predicted_time_s.value(), 1.5e-5);
  EXPECT_DOUBLE_EQ(rows[1].predicted_time_s.value(), 0.75e-5);
  EXPECT_DOUBLE_EQ(rows[2].predicted_time_s.value(), 4e-6);
  EXPECT_EQ(
      rows[1].prediction,
      "half of the time, from all-reduces of comm:mpi reduce:auto among 4 ranks, calibrated up to 101kB, beyond by "
      "their last rate; parabench calibrate resnet18/cifar10-synthetic/zero1/np:4/batch:128 measures all-gathers of "
      "comm:mpi reduce:auto among 4 ranks");
  EXPECT_EQ(rows[2].prediction, "from messages of comm:mpi, calibrated up to 101kB, beyond by their last rate");
  EXPECT_DOUBLE_EQ(rows[3].predicted_time_s.value(), 3e-5);
  EXPECT_EQ(rows[3].prediction,
            "from reduce-scatters of comm:mpi reduce:auto among 4 ranks, calibrated up to 51kB, beyond by their last "
            "rate");
  rows[0].time_s = results::exchange_time({{1e-5}});
  EXPECT_NEAR(*results::time_error(rows[0]), 0.5, 1e-12);
}

TEST(Predictions, WithoutACurveSayWhatWouldMeasureIt) {
  CommunicateOptions ring = options();
  ring.reduce = {ReduceKind::ring};
  auto rows = exchange_rows(ring);
  predict(rows, nullptr);
  EXPECT_FALSE(rows[0].predicted_time_s);
  EXPECT_THAT(rows[0].prediction, AllOf(HasSubstr("never calibrated"), HasSubstr("parabench calibrate resnet18/"),
                                        HasSubstr("data-parallel/np:4"), HasSubstr("/reduce:ring")));
  const analytic::Calibration empty;
  predict(rows, &empty);
  EXPECT_FALSE(rows[0].predicted_time_s);
  EXPECT_THAT(rows[0].prediction, HasSubstr("the calibration lacks all-reduces of comm:mpi reduce:ring among 4 ranks"));
}

}  // namespace
}  // namespace parabench::suite
