#include "analytic/calibration/combine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "analytic/calibration/calibration_json.h"

namespace parabench::analytic {
namespace {

using testing::ElementsAre;

std::string text(const Calibration& c) { return to_json(c).dump(); }

/// All that models read of a calibration: as text, without the launches behind it.
std::string values(Calibration c) {
  c.launches.clear();
  c.ranks.reset();
  c.canary.reset();
  return text(c);
}

const LayerKey key{.layer = "linear"};

/// A launch on one day of January, in which a layer took so many seconds.
Calibration launch(int day, double seconds, int samples = 4) {
  Calibration c;
  c.machine = {.id = "m", .host = "node", .cpu = "cpu", .governor = "none", .cores = day};
  c.date =
      std::string("2026-01-") + static_cast<char>('0' + day / 10) + static_cast<char>('0' + day % 10) + "T00:00:00Z";
  c.ranks = 2;
  c.canary = Canary{1e-4 * day, 5e-3, 0.25, 7, 1.5};
  c.layers[key] = {{.samples = samples,
                    .forward_s = seconds,
                    .backward_s = 2 * seconds,
                    .forward_mad_s = seconds / 16,
                    .backward_mad_s = seconds / 8,
                    .saved_bytes = 100 + day}};
  return c;
}

/// With everything that a launch may measure.
Calibration whole_launch(int day, double seconds) {
  Calibration c = launch(day, seconds);
  c.machine.gpus = {{.name = "GPU", .capability = 90, .memory_bytes = 1 << 30, .count = day}};
  c.layers[key].front().split = SplitTiming{seconds, 2 * seconds, seconds / 4, seconds / 2};
  c.layers[key].front().forward_peak_bytes = 10 * day;
  c.all_reduce[{"mpi", 2}] = {{100, seconds}, {1000 + day, 2 * seconds}};
  c.reduce_scatter[{"mpi", 2}] = {{100, 4 * seconds}};
  c.all_gather[{"mpi", 2}] = {{100, 5 * seconds}};
  c.point_to_point[{"threads", 2}] = {{64, 3 * seconds, 6 * seconds}};
  c.update_s_per_parameter = {{{DeviceKind::cpu, "sgd"}, {{1, seconds}, {2, 2 * seconds}}}};
  c.copy_bytes_per_s = {{DeviceKind::cpu, {{1, 1 / seconds}}}};
  c.load_s_per_sample = {{{"cifar10", 1}, {{1, seconds}, {2, 3 * seconds}}}};
  c.step_overhead_s = {{DeviceKind::cpu, seconds}, {DeviceKind::cuda, 2 * seconds}};
  c.launch_floor_s = seconds;
  c.context_bytes = 1000 * day;
  c.communicator_bytes = {{"nccl", 30 * day}};
  return c;
}

TEST(Combine, OneLaunchIsItself) {
  EXPECT_EQ(text(combined({whole_launch(3, 0.5)})), text(whole_launch(3, 0.5)));
  Calibration empty;
  EXPECT_THAT(merge(empty, whole_launch(3, 0.5)), ElementsAre());
  EXPECT_EQ(text(empty), text(whole_launch(3, 0.5)));
  EXPECT_TRUE(empty.launches.empty());
}

TEST(Combine, EveryValueIsTheMedianOverLaunches) {
  const Calibration all = combined({whole_launch(1, 1), whole_launch(2, 4), whole_launch(3, 2)});
  Calibration typical = whole_launch(2, 2);  // bytes of the second, seconds of the third
  typical.machine = whole_launch(3, 2).machine;
  typical.date = whole_launch(3, 2).date;
  typical.all_reduce[{"mpi", 2}] = {{100, 2}, {1001, 2}, {1002, 8}, {1003, 4}};  // each of these was measured once
  EXPECT_EQ(values(all), values(typical));
  EXPECT_EQ(all.launches.size(), 3u);
  EXPECT_FALSE(all.ranks);
  EXPECT_FALSE(all.canary);
}

TEST(Combine, OfTwoLaunchesItIsTheMean) {
  const LayerTiming both = combined({launch(1, 1), launch(2, 4)}).layers.at(key).front();
  EXPECT_EQ(both.forward_s, 2.5);
  EXPECT_EQ(both.backward_s, 5);
  EXPECT_EQ(both.saved_bytes, 102) << "101.5 to the nearest byte";
}

TEST(Combine, WhatOneLaunchDidNotMeasureIsTheOthersAlone) {
  Calibration first = whole_launch(1, 1), second = launch(2, 4);
  second.layers[key].front().saved_bytes = 0;
  LayerKey other = key;
  other.threads = 4;
  second.layers[other] = {{.samples = 1, .forward_s = 7}};
  const Calibration all = combined({first, second});
  EXPECT_EQ(all.layers.at(key).front().split, first.layers[key].front().split);
  EXPECT_EQ(all.layers.at(key).front().saved_bytes, 101);
  EXPECT_EQ(all.layers.at(other).front().forward_s, 7);
  EXPECT_EQ(all.all_reduce.at({"mpi", 2}).size(), 2u);
  EXPECT_EQ(all.launch_floor_s, 1);
  EXPECT_EQ(all.machine.cores, 2) << "the newest launch's machine";
  EXPECT_EQ(all.machine.gpus.size(), 1u) << "the newest launch was shown no GPU";
}

TEST(Combine, TimesBesideComputingAreOfTheLaunchesThatMeasuredThem) {
  Calibration older = whole_launch(1, 1);
  older.point_to_point[{"threads", 2}] = {{64, 5}};
  const auto lost = [](Calibration launch, double share) {
    launch.point_to_point.at({"threads", 2}).front().lost_share = share;
    return launch;
  };
  const Calibration all = combined({older, lost(whole_launch(2, 1), 0.25), lost(whole_launch(3, 2), 0.75)});
  const CurvePoint point = all.point_to_point.at({"threads", 2}).front();
  EXPECT_EQ(point.seconds, 5);
  EXPECT_EQ(point.loaded_s, 9);
  EXPECT_EQ(point.lost_share, 0.5);
}

TEST(Combine, TheOrderOfLaunchesDoesNotMatter) {
  std::vector<Calibration> launches;
  for (int day = 1; day <= 6; ++day) launches.push_back(whole_launch(day, 1.0 / (1 + day * 7 % 5)));
  launches.push_back(launch(7, 0.3, 8));
  const std::string expected = text(combined(launches)), expected_values = values(combined(launches));
  std::minstd_rand random(1);
  for (int i = 0; i < 20; ++i) {
    std::ranges::shuffle(launches, random);
    EXPECT_EQ(text(combined(launches)), expected);
    EXPECT_EQ(values(combined(launches)), expected_values);
    Calibration one_by_one;
    for (const Calibration& one : launches) merge(one_by_one, one);
    EXPECT_EQ(text(one_by_one), expected);
    EXPECT_EQ(values(one_by_one), expected_values);
  }
}

TEST(Combine, MergingKeepsEveryLaunchWhole) {
  Calibration all;
  for (int day = 1; day <= most_launches; ++day) EXPECT_THAT(merge(all, whole_launch(day, day)), ElementsAre());
  const std::vector<Calibration> kept = launches_of(all);
  ASSERT_EQ(kept.size(), static_cast<std::size_t>(most_launches));
  for (int day = 1; day <= most_launches; ++day) {
    Calibration expected = whole_launch(day, day);
    EXPECT_EQ(text(kept[day - 1]), text(expected)) << day;
  }
}

TEST(Combine, ALaunchGoesWhereNewerOnesHaveMeasuredAllOfIt) {
  Calibration all;
  for (int day = 1; day <= most_launches; ++day) merge(all, launch(day, day));
  EXPECT_THAT(merge(all, launch(most_launches + 1, 1)), ElementsAre(launch(1, 1).date));
  EXPECT_EQ(all.launches.size(), static_cast<std::size_t>(most_launches));
  EXPECT_THAT(merge(all, launch(1, 1)), ElementsAre(launch(1, 1).date)) << "it came late and is still the oldest";
}

TEST(Combine, ALaunchStaysForTheOneValueThatNobodyMeasuredSinceSoOften) {
  Calibration all = launch(1, 1);
  all.step_overhead_s = {{DeviceKind::cpu, 0.5}};
  for (int day = 2; day <= most_launches + 5; ++day) merge(all, launch(day, day));
  EXPECT_EQ(all.launches.size(), static_cast<std::size_t>(most_launches) + 1);
  EXPECT_EQ(all.launches.front().date, launch(1, 1).date);
  EXPECT_EQ(all.step_overhead_s.at(DeviceKind::cpu), 0.5);
}

TEST(Combine, ALaunchStaysForHalvesOfBackwardsThatNobodyMeasuredSince) {
  Calibration halves = launch(1, 1);
  halves.layers.at(key).front().split = SplitTiming{.input_s = 1, .weight_s = 2};
  Calibration all = halves;
  for (int day = 2; day <= most_launches + 5; ++day) {
    Calibration whole = launch(day, day);
    for (auto& [ignored, timings] : whole.layers)
      for (LayerTiming& timing : timings) timing.split.reset();
    merge(all, whole);
  }
  ASSERT_TRUE(all.layers.at(key).front().split);
  EXPECT_EQ(all.layers.at(key).front().split->weight_s, 2);
}

TEST(Combine, BytesThatALaunchDidNotMeasureCountForNothing) {
  Calibration old = launch(1, 1), late = launch(2, 2);
  old.layers.at(key).front().split = SplitTiming{.input_s = 1, .weight_s = 2};
  LayerTiming& measured = late.layers.at(key).front();
  measured.adding_peak_bytes = 50;
  measured.split = SplitTiming{
      .input_s = 1, .weight_s = 2, .input_peak_bytes = 10, .weight_peak_bytes = 30, .adding_weight_peak_bytes = 20};
  merge(old, late);
  const LayerTiming& both = old.layers.at(key).front();
  EXPECT_EQ(both.adding_peak_bytes, 50);
  ASSERT_TRUE(both.split);
  EXPECT_EQ(both.split->input_peak_bytes, 10);
  EXPECT_EQ(both.split->weight_peak_bytes, 30);
  EXPECT_EQ(both.split->adding_weight_peak_bytes, 20);
}

TEST(Combine, ALaunchStaysForBytesThatNobodyMeasuredSince) {
  Calibration all = launch(1, 1);
  all.layers.at(key).front().adding_peak_bytes = 50;
  const int others = most_launches + 5;
  for (int day = 2; day <= others; ++day) merge(all, launch(day, day));
  EXPECT_EQ(all.layers.at(key).front().adding_peak_bytes, 50);
}

TEST(Combine, TheFileHasEveryLaunchAndIsCombinedAlikeWhenItIsRead) {
  Calibration all;
  for (int day = 1; day <= 3; ++day) merge(all, whole_launch(day, 1.0 / day));
  const nlohmann::json file = to_json(all);
  EXPECT_EQ(file["launches"].size(), 3u);
  const Calibration again = calibration_from_json(nlohmann::json::parse(file.dump()));
  EXPECT_EQ(text(again), text(all));
  EXPECT_EQ(values(again), values(all));
}

}  // namespace
}  // namespace parabench::analytic
