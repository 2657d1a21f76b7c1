#include "results/compare_files.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "base/statistics.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string net = "resnet18/cifar10-synthetic/";
const std::string gpipe = net + "gpipe/np:2/batch:32";
const std::string f1b = net + "1f1b/np:2/batch:32";

/// Launches of a machine whose launches differ by `sigma`, around `centre`.
std::vector<double> launches(std::size_t number, double centre, double sigma, std::uint64_t seed) {
  std::vector<double> out;
  for (std::uint64_t i = 0; i < number; ++i) out.push_back(centre * std::exp(sigma * counter_normal(seed, 17, i)));
  return out;
}

/// A row whose launches have these medians and three steps each.
Record record_of(const std::string& id, const std::vector<double>& medians) {
  Record record = ok_record(id, 100);
  record.measured->step_time_s.samples.clear();
  for (const double s : medians) record.measured->step_time_s.samples.push_back({0.5 * s, s, 3 * s});
  return record;
}

ResultsFile file_of(std::vector<Record> records) {
  ResultsFile file = sample_files().front();
  file.records = std::move(records);
  return file;
}

std::optional<LaunchNoise> noise_of(const std::vector<double>& medians) {
  return launch_noise(std::vector<Record>{record_of(gpipe, medians)}, DeviceKind::cpu);
}

CaseComparison judged(const std::vector<double>& a, const std::vector<double>& b, const CompareRules& rules = {}) {
  return judge(a, b, noise_of(a), noise_of(b), rules);
}

bool is_called(const CaseComparison& c) { return c.verdict == Verdict::faster || c.verdict == Verdict::slower; }

Verdict mirrored(Verdict verdict) {
  if (verdict == Verdict::faster) return Verdict::slower;
  return verdict == Verdict::slower ? Verdict::faster : verdict;
}

TEST(Judge, ClearDifferencesAreCalled) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto before = launches(6, 0.1, 0.01, 2 * seed), after = launches(6, 0.12, 0.01, 2 * seed + 1);
    EXPECT_EQ(judged(before, after).verdict, Verdict::slower) << seed;
    EXPECT_EQ(judged(after, before).verdict, Verdict::faster) << seed;
    EXPECT_EQ(judged(before, launches(6, 0.1, 0.01, 1000 + seed)).verdict, Verdict::same) << seed;
  }
}

TEST(Judge, SwappedSidesMirrorTheVerdict) {
  std::array<int, 4> seen{};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const double ratio = 0.8 + 0.4 * counter_uniform(seed, 1, 0), sigma = 0.05 * counter_uniform(seed, 1, 1);
    const auto a = launches(3 + seed % 7, 1, sigma, 2 * seed), b = launches(3 + seed % 5, ratio, sigma, 2 * seed + 1);
    const CaseComparison there = judged(a, b), back = judged(b, a);
    EXPECT_EQ(back.verdict, mirrored(there.verdict)) << seed;
    EXPECT_NEAR(back.ratio * there.ratio, 1, 1e-12);
    EXPECT_NEAR(back.interval->first * there.interval->second, 1, 1e-12);
    EXPECT_DOUBLE_EQ(*back.p, *there.p);
    EXPECT_EQ(back.launches_to_settle, there.launches_to_settle) << seed;
    ++seen[static_cast<std::size_t>(there.verdict)];
  }
  for (const int count : seen) EXPECT_GT(count, 10) << "every verdict is tried";
}

TEST(Judge, AFileAgainstItselfIsNeverFasterOrSlower) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto a = launches(3 + seed % 10, 1, 0.001 * static_cast<double>(seed), seed);
    const CaseComparison c = judged(a, a, {.threshold = seed % 2 == 0 ? 0 : 0.05});
    EXPECT_FALSE(is_called(c)) << seed;
    EXPECT_EQ(c.ratio, 1);
  }
}

// Threshold 0, so that nothing but the statistics holds a verdict back. Noise is known from the case's own launches
// alone, the hardest there is.
TEST(Judge, CallsNoiseADifferenceLessOftenThanAlpha) {
  for (const double alpha : {0.05, 0.2}) {
    for (const std::size_t number : {4, 5, 8, 12}) {
      constexpr std::uint64_t trials = 250;
      int called = 0;
      for (std::uint64_t seed = 0; seed < trials; ++seed) {
        const auto a = launches(number, 1, 0.03, 2 * seed), b = launches(number, 1, 0.03, 2 * seed + 1);
        called += is_called(judged(a, b, {.threshold = 0, .alpha = alpha}));
      }
      EXPECT_LE(called, alpha * trials) << number << " launches";
    }
  }
}

TEST(Judge, FewerThanThreeLaunchesAreUnclearHoweverFarApart) {
  for (const std::size_t few : {1, 2}) {
    const CaseComparison c = judged(launches(few, 1, 0.001, 1), launches(20, 3, 0.001, 2));
    EXPECT_EQ(c.verdict, Verdict::unclear);
    EXPECT_THAT(c.reason, HasSubstr("launches: " + std::to_string(few) + " in A and 20 in B"));
    EXPECT_FALSE(c.interval || c.p || c.noise || c.launches_to_settle);
  }
}

TEST(Judge, ThreeLaunchesAreAtBestTheSame) {
  EXPECT_EQ(judged({1, 1.001, 1.002}, {1.0005, 1.0015, 1.0025}).verdict, Verdict::same);
  const CaseComparison c = judged({1, 1.001, 1.002}, {3, 3.001, 3.002});
  EXPECT_EQ(c.verdict, Verdict::unclear);
  EXPECT_THAT(c.reason, HasSubstr("p is not below 0.05"));
  EXPECT_EQ(c.launches_to_settle, 4);
}

// The launches of this case agree by luck; those of others in its file tell what the machine does.
TEST(Judge, ADifferenceWithinTheNoiseOfEitherFileIsNeverCalled) {
  const auto a = launches(8, 1, 0.001, 1), b = launches(8, 1.1, 0.001, 2);
  ASSERT_EQ(judged(a, b).verdict, Verdict::slower);
  const std::optional<LaunchNoise> noisy = noise_of(launches(30, 1, 0.1, 3));
  for (const CaseComparison& c : {judge(a, b, noisy, noise_of(b), {}), judge(a, b, noise_of(a), noisy, {})}) {
    EXPECT_EQ(c.verdict, Verdict::unclear);
    EXPECT_THAT(c.reason, HasSubstr("a tie within launch-to-launch noise"));
  }
  const CaseComparison same = judge(a, a, noisy, noisy, {});
  EXPECT_EQ(same.verdict, Verdict::unclear) << "such a machine cannot tell that nothing has changed";
  EXPECT_THAT(same.reason, HasSubstr("a tie within the noise; launch-to-launch noise hides differences"));
}

TEST(Judge, TheThresholdDecidesWhatMatters) {
  const auto a = launches(10, 1, 0.002, 1), b = launches(10, 1.03, 0.002, 2);
  EXPECT_EQ(judged(a, b, {.threshold = 0.05}).verdict, Verdict::same);
  EXPECT_EQ(judged(a, b, {.threshold = 0.01}).verdict, Verdict::slower);
  const CaseComparison at = judged(a, b, {.threshold = 0.03});
  EXPECT_EQ(at.verdict, Verdict::unclear);
  EXPECT_THAT(at.reason, HasSubstr("threshold of 3 %"));
}

TEST(Judge, TheLaunchesThatItAsksForMostlySettleIt) {
  int unclear = 0, settled = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const double ratio = seed % 2 == 0 ? 1 : 1.1;
    const auto a = launches(5, 1, 0.03, 4 * seed), b = launches(5, ratio, 0.03, 4 * seed + 1);
    const CaseComparison c = judged(a, b);
    if (c.verdict != Verdict::unclear || !c.launches_to_settle) continue;
    ++unclear;
    const auto number = static_cast<std::size_t>(*c.launches_to_settle);
    settled += judged(launches(number, 1, 0.03, 4 * seed + 2), launches(number, ratio, 0.03, 4 * seed + 3)).verdict !=
               Verdict::unclear;
  }
  EXPECT_GT(unclear, 100);
  EXPECT_GT(settled, 0.6 * unclear);
}

TEST(CompareFiles, TakesLaunchesAndNotSteps) {
  Record a = record_of(gpipe, {}), b = record_of(gpipe, {});
  for (const double step : {1.0, 1.001}) {
    a.measured->step_time_s.samples.push_back(std::vector<double>(1000, step));
    b.measured->step_time_s.samples.push_back(std::vector<double>(1000, 2 * step));
  }
  const FilesComparison out = compare_files(file_of({a}), file_of({b}), {});
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].launches_a, 2u);
  EXPECT_EQ(out.cases[0].verdict, Verdict::unclear) << "2000 steps of two launches are two values";
}

TEST(CompareFiles, ListsWhatItDoesNotCompare) {
  Record failed = record_of(f1b, {1, 1, 1});
  failed.status = Status::failed;
  failed.reason = "rank 1 was killed";
  Record wrong = record_of(net + "dapple/np:2/batch:32", {1, 1, 1});
  wrong.equivalence.status = EquivalenceStatus::fail;
  wrong.equivalence.reason = "fc.bias differs";
  Record adrift = record_of(net + "pipedream/np:2/batch:32", {1, 1, 1});
  adrift.equivalence.loss_agrees = false;
  const Record good = record_of(gpipe, {1, 1.01, 1.02});
  const Record alone = record_of(net + "data-parallel/np:2/batch:32", {1, 1, 1});
  const Record other = record_of(net + "sequential/np:1/batch:32", {1, 1, 1});
  const ResultsFile a = file_of({failed, good, good, wrong, alone, adrift});
  Record healthy = failed;
  healthy.status = Status::ok;
  const FilesComparison out = compare_files(a, file_of({other, healthy, adrift, good, wrong}), {});
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].id_a, gpipe);
  std::vector<std::string> lines;
  for (const LeftOut& row : out.left_out) lines.push_back(row.id + ": " + row.reason);
  EXPECT_THAT(
      lines,
      testing::ElementsAre(
          f1b + ": in A failed: rank 1 was killed", gpipe + ": comes again in A: its first row is compared",
          wrong.id + ": in A not equivalent: fc.bias differs", wrong.id + ": in B not equivalent: fc.bias differs",
          alone.id + ": only in A", adrift.id + ": in A not equivalent: its losses are not those of the reference",
          adrift.id + ": in B not equivalent: its losses are not those of the reference", other.id + ": only in B"));
  EXPECT_TRUE(std::ranges::none_of(out.left_out, &LeftOut::broken)) << "none counts in A";
}

TEST(CompareFiles, MarksWhatIsGoodInAAndNotInB) {
  const Record good = record_of(gpipe, {1, 1, 1});
  Record failed = good, wrong = good;
  failed.status = Status::failed;
  wrong.equivalence.status = EquivalenceStatus::fail;
  const auto broken = [](const Record& a, const Record& b) {
    return compare_files(file_of({a}), file_of({b}), {}).left_out.at(0).broken;
  };
  EXPECT_TRUE(broken(good, failed));
  EXPECT_TRUE(broken(good, wrong));
  EXPECT_FALSE(broken(failed, good)) << "mended";
  EXPECT_FALSE(broken(wrong, failed)) << "as bad as before";
  EXPECT_FALSE(broken(good, skipped_record(gpipe, "no GPU"))) << "it says nothing of the case";
}

TEST(CompareFiles, RefusesDifferentWorkUnlessItIsAllowed) {
  const ResultsFile a = file_of({record_of(gpipe, {1, 1.01, 1.02})});
  const auto expect_refused = [&a](WorkAspect aspect, const auto& change) {
    ResultsFile b = a;
    change(b, b.records[0]);
    const std::string name(to_text(aspect));
    try {
      compare_files(a, b, {});
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_THAT(error.what(), HasSubstr("try --allow-different " + name)) << "and nothing else";
    }
    const FilesComparison out = compare_files(a, b, {.allowed = {aspect}});
    ASSERT_EQ(out.allowed.size(), 1u) << name;
    EXPECT_EQ(out.allowed[0].aspect, aspect);
    EXPECT_NE(out.allowed[0].a, out.allowed[0].b);
    EXPECT_EQ(out.cases.size(), 1u);
  };
  expect_refused(WorkAspect::machine, [](ResultsFile& b, Record&) { b.context.hosts[0].cores = 64; });
  expect_refused(WorkAspect::machine, [](ResultsFile& b, Record&) { b.context.hosts.push_back(b.context.hosts[0]); });
  expect_refused(WorkAspect::build, [](ResultsFile& b, Record&) { b.program.build_type = "Debug"; });
  expect_refused(WorkAspect::build, [](ResultsFile& b, Record&) { b.program.flags = "-O0"; });
  expect_refused(WorkAspect::version, [](ResultsFile& b, Record&) { b.program.version = "9.0.0"; });
  expect_refused(WorkAspect::parameters, [](ResultsFile&, Record& r) { r.parameters.micro = 8; });
  expect_refused(WorkAspect::plan, [](ResultsFile&, Record& r) { r.plan->hash = "another"; });
  expect_refused(WorkAspect::steps, [](ResultsFile&, Record& r) {
    for (auto& launch : r.measured->step_time_s.samples) launch.push_back(1);
  });
  expect_refused(WorkAspect::warmup, [](ResultsFile&, Record& r) { r.measured->warmup_steps = 7; });
  expect_refused(WorkAspect::reference, [](ResultsFile&, Record& r) { r.equivalence.reference = "delayed-update"; });
  expect_refused(WorkAspect::reference,
                 [](ResultsFile&, Record& r) { r.equivalence.reference_batch = ReferenceBatch::whole; });
  expect_refused(WorkAspect::arithmetic,
                 [](ResultsFile&, Record& r) { r.measured->ranks[0].arithmetic->matmul = Precision::tf32; });
}

TEST(CompareFiles, RefusesEmulatedDevicesOfOtherTimesAndBesideRealOnes) {
  ResultsFile a = file_of({record_of(gpipe, {1, 1.01, 1.02})});
  a.records[0].parameters.device = DeviceKind::emulated;
  a.records[0].emulate = "rate:1Gbit";
  ResultsFile b = a;
  EXPECT_EQ(compare_files(a, b, {}).cases.size(), 1u);
  for (const char* other : {"rate:10Gbit", ""}) {
    b.records[0].emulate = other;
    EXPECT_THROW(compare_files(a, b, {}), Error) << other;
  }
  const FilesComparison out = compare_files(a, b, {.allowed = {WorkAspect::emulate}});
  EXPECT_EQ(out.allowed[0].b, "the processor's times");
  b = a;
  b.records[0].parameters.device = DeviceKind::cpu;
  EXPECT_THROW(compare_files(a, b, {.allowed = {WorkAspect::parameters}}), Error) << "beside a real device";
}

TEST(CompareFiles, GpusMatterToCasesOnThem) {
  const ResultsFile a = file_of({record_of(gpipe, {1, 1.01, 1.02})});
  ResultsFile b = a;
  b.context.gpus.clear();
  EXPECT_THAT(compare_files(a, b, {}).allowed, IsEmpty());
  ResultsFile on_a = a, on_b = b;
  on_a.records = on_b.records = {record_of(net + "sequential/np:1/batch:32/device:cuda", {1, 1.01, 1.02})};
  EXPECT_THROW(compare_files(on_a, on_b, {}), Error);
}

TEST(CompareFiles, WhatOneComparesIsContext) {
  const ResultsFile a = file_of({record_of(gpipe, {1, 1.01, 1.02})});
  EXPECT_THAT(compare_files(a, a, {}).context, IsEmpty());
  ResultsFile b = a;
  b.program.git = "fedcba9876543210";
  b.context.date = "2026-01-01T00:00:00Z";
  b.context.launcher = "srun";
  b.context.libtorch = "";
  b.context.hosts[0].name = "node1";
  b.context.environment = {{"OMP_NUM_THREADS", "2"}, {"SLURM_JOB_ID", "7"}};
  const FilesComparison out = compare_files(a, b, {});
  std::vector<std::string> lines;
  for (const ContextDifference& d : out.context) lines.push_back(d.name + ": " + d.a + ", " + d.b);
  EXPECT_THAT(lines, testing::ElementsAre("commit: 0123456789ab, fedcba987654", "libtorch: 2.11.0, none",
                                          "launcher: mpirun, srun", "hosts: node0, node1", "OMP_NUM_THREADS: 1, 2"));
}

TEST(CompareFiles, TwoCasesOfOneFile) {
  const ResultsFile file =
      file_of({record_of(gpipe, launches(6, 1, 0.01, 1)), record_of(f1b, launches(6, 0.8, 0.01, 2)),
               record_of(net + "gpipe/np:2/batch:64", launches(6, 2, 0.01, 3))});
  const FilesComparison out = compare_files(file, file, {.ids = {{gpipe + "/micro:4", f1b}}});
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].id_b, f1b);
  EXPECT_EQ(out.cases[0].verdict, Verdict::faster);
  EXPECT_THAT(out.left_out, IsEmpty());
  const CompareRules other_batch = {.ids = {{gpipe, net + "gpipe/np:2/batch:64"}}};
  EXPECT_THROW(compare_files(file, file, other_batch), Error) << "a step of twice the samples";
  const CompareRules absent = {.ids = {{gpipe, net + "gpipe/np:4/batch:32"}}};
  EXPECT_THROW(compare_files(file, file, absent), Error);
}

TEST(CompareFiles, KnowsTheNoiseOfEachKindOfDevice) {
  const std::string emulated = "/device:emulated";
  const ResultsFile file =
      file_of({record_of(gpipe, launches(5, 1, 0.05, 1)), record_of(gpipe + emulated, launches(5, 1, 0.0001, 2))});
  const FilesComparison out = compare_files(file, file, {});
  ASSERT_EQ(out.noise.size(), 2u);
  EXPECT_GT(out.noise[0].a->sigma, 0.01);
  EXPECT_LT(out.noise[1].a->sigma, 0.001);
  EXPECT_EQ(out.cases[1].verdict, Verdict::same);
}

}  // namespace
}  // namespace parabench::results
