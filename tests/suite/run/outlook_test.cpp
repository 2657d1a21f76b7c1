#include "suite/run/outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytic/calibration/scope.h"
#include "analytic/hardware/hardware.h"
#include "base/case_id.h"
#include "base/error.h"
#include "suite/protocol/command.h"

namespace parabench::suite {
namespace {

const Knowledge nothing_measured{{.cores = 2, .memory_bytes = 8LL << 30, .frequency_hz = 2.5e9, .vector_bits = 256},
                                 nullptr};

Outlook outlook(const std::string& id) { return make_outlook({.spec = parse_case(id), .id = id}, nothing_measured); }

std::string refusal(const std::string& id) {
  try {
    outlook(id);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

const std::string mlp = "mlp[layers=130]/cifar10-synthetic/";
const std::string transformer =
    "transformer[layers=6,hidden=64,heads=4,sequence=32]/tokens-synthetic[sequence=32,vocabulary=100]/";

void expect_as_forecast(const std::string& id) {
  const Outlook shortened = outlook(id);
  EXPECT_FALSE(shortened.has_plan) << id;
  const Predicted& ours = shortened.forecast.predicted;
  const Predicted whole =
      make_forecast(make_subject(parse_case(id)), nothing_measured, protocol::default_warmup, protocol::default_steps)
          .predicted;
  EXPECT_NEAR(ours.step_time_s, whole.step_time_s, 1e-9 * whole.step_time_s) << id;
  EXPECT_NEAR(*ours.isolated_step_time_s, *whole.isolated_step_time_s, 1e-9 * whole.step_time_s) << id;
  ASSERT_EQ(ours.ranks.size(), whole.ranks.size()) << id;
  for (std::size_t r = 0; r < whole.ranks.size(); ++r) {
    EXPECT_EQ(ours.ranks[r].peak_memory, whole.ranks[r].peak_memory) << id << " rank " << r;
    EXPECT_NEAR(ours.ranks[r].breakdown_s.bubble, whole.ranks[r].breakdown_s.bubble, 1e-9 * whole.step_time_s) << id;
  }
}

TEST(Outlook, OfALargeCaseIsThatOfItsWholePlan) {
  expect_as_forecast(mlp + "1f1b/np:130/batch:25/micro:11");
  expect_as_forecast(mlp + "gpipe/np:2/batch:10100/micro:10100/device:emulated");
  expect_as_forecast("mlp/cifar10-synthetic/data-parallel/np:130/batch:260");
  expect_as_forecast("mlp/cifar10-synthetic/1f1b/np:130/batch:260/micro:4/dp:65");
  expect_as_forecast("mlp/cifar10-synthetic/data-parallel/np:130/batch:260/device:cuda");
}

TEST(Outlook, OfASmallOneHasItsPlan) {
  EXPECT_TRUE(outlook("mlp/cifar10-synthetic/1f1b/np:2/batch:8").has_plan);
  EXPECT_TRUE(outlook("mlp/cifar10-synthetic/zero1/np:130/batch:130").has_plan) << "shares differ from rank to rank";
}

TEST(Outlook, ReachesBeyondWhatAPlanCanList) {
  const Outlook many = outlook("mlp/cifar10-synthetic/data-parallel/np:20000/batch:40000/device:cuda");
  EXPECT_FALSE(many.has_plan);
  EXPECT_EQ(many.forecast.predicted.ranks.size(), 20000u);
  EXPECT_EQ(many.forecast.predicted.ranks.back().rank, Rank(19999));
  EXPECT_THAT(refusal("mlp/cifar10-synthetic/data-parallel/np:2147483647/batch:2147483647"),
              testing::HasSubstr("np: got '2147483647'"));
  EXPECT_THAT(refusal("mlp/cifar10-synthetic/zero1/np:20000/batch:40000"), testing::HasSubstr("at most 8192 ranks"));
  EXPECT_THAT(refusal("mlp/cifar10-synthetic/1f1b/np:2/batch:2147483647/micro:2147483647"),
              testing::HasSubstr("micro: got '2147483647'"));
}

TEST(Outlook, SpreadsMoreRanksThanAHostHolds) {
  const auto source = [](const std::string& id, const std::string& name) {
    for (const Term& term : outlook(id).forecast.predicted.terms)
      if (term.name.starts_with(name)) return term.source;
    return "no " + name;
  };
  const std::string few = mlp + "1f1b/np:16/batch:32/micro:4", many = mlp + "1f1b/np:17/batch:32/micro:4";
  for (const char* name : {"forward", "update", "message"})
    EXPECT_THAT(source(few, name), testing::Not(testing::HasSubstr("hosts"))) << name;
  EXPECT_THAT(source(many, "message"), testing::EndsWith("; 9 hosts of 2 cores, 2 ranks on each"));
  // How many hosts there are is nothing to what a rank computes; who computes beside it is.
  for (const char* name : {"forward", "update"})
    EXPECT_THAT(source(many, name), testing::EndsWith("; hosts of 2 cores, 2 ranks on each")) << name;
}

TEST(Outlook, TheNetworkIsAssumedOfWhatPassesItAlone) {
  const std::string id = "mlp/cifar10-synthetic/data-parallel/np:4/batch:16";
  Knowledge placed = nothing_measured;
  placed.hosts = 2;
  const auto terms = make_outlook({.spec = parse_case(id), .id = id}, placed).forecast.predicted.terms;
  int sums = 0;
  for (const Term& term : terms) {
    const bool is_sum = term.name.starts_with("all_reduce");
    sums += is_sum;
    EXPECT_EQ(term.source.find("nobody measured their network") != std::string::npos, is_sum) << term.name;
  }
  EXPECT_GT(sums, 0);
}

TEST(Outlook, OfManyRanksIsCalibratedWhereItsHostsWere) {
  const std::string id = "mlp[layers=2]/cifar10-synthetic/data-parallel/np:130/batch:260/device:cuda";
  const Subject subject = make_subject(parse_case(id));
  plan::Plan plan = make_forecast(subject, nothing_measured, 5, 20).plan;
  plan.placement = in_blocks(130, 2);
  analytic::Calibration known = analytic::promised_calibration(plan, subject.model, nothing_measured.machine);
  known.date = "2026-01-01T00:00:00Z";
  Knowledge knowledge{.machine = nothing_measured.machine, .calibration = &known, .hosts = 2};
  const auto source = [&] { return make_outlook({.spec = subject.spec, .id = id}, knowledge).forecast.cost_source; };
  EXPECT_EQ(source(), "calibrated");
  knowledge.hosts = 1;
  EXPECT_EQ(source(), "data-sheet") << "nobody measured so many on one host";
}

TEST(Outlook, OfRanksThatDivideLayersHasTheirSums) {
  const auto predicted = [](const std::string& keys) {
    return outlook(transformer + "1f1b/batch:16/micro:4/device:cuda/" + keys).forecast.predicted;
  };
  const Predicted one = predicted("np:2"), four = predicted("np:8/tp:4");
  ASSERT_EQ(four.ranks.size(), 8u);
  for (int r = 0; r < 8; ++r) {
    EXPECT_EQ(four.ranks[r].rank, Rank(r));
    EXPECT_EQ(four.ranks[r].peak_memory, four.ranks[r / 4 * 4].peak_memory);
    EXPECT_LT(four.ranks[r].peak_memory[MemoryCategory::parameters],
              one.ranks[r / 4].peak_memory[MemoryCategory::parameters]);
  }
  const auto term = [](const Predicted& of, const std::string& name) {
    for (const Term& t : of.terms)
      if (t.name.starts_with(name)) return t.value;
    return -1.0;
  };
  // Kernels so small take their launch, however they are divided: what is left is four sums in each of six blocks.
  const double sums = term(four, "tensor_sums[h.0]");
  EXPECT_GT(sums, 0);
  const auto passes = [&](const Predicted& of) {
    double seconds = 0;
    for (const char* name : {"forward[stage 0]", "backward[stage 0]", "forward[stage 1]", "backward[stage 1]"})
      seconds += term(of, name);
    return seconds;
  };
  EXPECT_NEAR(passes(four) - passes(one), 6 * sums, 0.2 * 6 * sums);
  EXPECT_EQ(term(four, "flops_per_step"), term(one, "flops_per_step"));
  EXPECT_EQ(four.step_parts->rank.value % 4, 0);
}

TEST(Outlook, OfRanksThatDivideLayersHasCopiesOnTheHostsThatTheyFill) {
  Knowledge h100{analytic::find_hardware("h100-sxm").machine};
  const auto sum = [&](const std::string& keys) {  // seconds and bytes
    const std::string id = "transformer[layers=6,hidden=1024,heads=8]/tokens-synthetic/data-parallel/" + keys +
                           "/batch:64/bucket:4GB/device:cuda";
    const Outlook outlook = make_outlook({.spec = parse_case(id), .id = id}, h100);
    for (const Term& term : outlook.forecast.predicted.terms)
      if (term.name.starts_with("all_reduce"))
        return std::pair(term.value, std::stod(term.formula.substr(term.formula.find("T(") + 2)));
    return std::pair(0.0, 0.0);
  };
  const auto sum_s = [&](const std::string& keys) { return sum(keys).first; };
  const auto [between, bytes] = sum("np:64/tp:8");
  EXPECT_NEAR(between, 2 * 7. / 8 * bytes / (0.9 * 50e9) + 2 * 7 * 14e-6, 1e-9) << "over a NIC of each host";
  h100.machine.sheet->network->bytes_per_s /= 2;
  EXPECT_NEAR(sum_s("np:64/tp:8") / between, 2, 0.05) << "over the network, whose latency is nothing beside its rate";
  h100.machine.sheet->network->bytes_per_s *= 2;
  h100.machine.sheet->network->nics /= 2;
  EXPECT_NEAR(sum_s("np:64/tp:8") / between, 2, 0.05) << "groups share the NICs";
  h100.machine.sheet->network.reset();
  EXPECT_LT(sum_s("np:8/tp:2"), between / 2) << "within a host";
}

TEST(Outlook, OfRanksThatDivideLayersSumAgainWhereForwardsRunAgain) {
  const Knowledge h100{analytic::find_hardware("h100-sxm").machine};
  const auto sums_s = [&](const std::string& keys) {
    const std::string id =
        "transformer[layers=6,hidden=1024,heads=8]/tokens-synthetic/data-parallel/np:8/batch:8/"
        "device:cuda/tp:8" +
        keys;
    const Outlook outlook = make_outlook({.spec = parse_case(id), .id = id}, h100);
    for (const Term& term : outlook.forecast.predicted.terms)
      if (term.name.starts_with("tensor_sums")) return term.value;
    return 0.0;
  };
  EXPECT_NEAR(sums_s("/recompute:all"), 1.5 * sums_s(""), 1e-12);
}

TEST(Outlook, OfRanksThatDivideLayersTheirOwnSumsStayOnTheirHost) {
  Knowledge h100{analytic::find_hardware("h100-sxm").machine};
  const auto sums_s = [&](const std::string& keys) {
    const std::string id =
        "transformer[layers=6,hidden=1024,heads=8]/tokens-synthetic/data-parallel/" + keys + "/device:cuda";
    const Outlook outlook = make_outlook({.spec = parse_case(id), .id = id}, h100);
    for (const Term& term : outlook.forecast.predicted.terms)
      if (term.name.starts_with("tensor_sums")) return term.value;
    return 0.0;
  };
  const double alone = sums_s("np:8/tp:8/batch:8");
  EXPECT_EQ(sums_s("np:64/tp:8/batch:64"), alone) << "as many samples in each copy";
  h100.machine.sheet->network->bytes_per_s /= 2;
  EXPECT_EQ(sums_s("np:64/tp:8/batch:64"), alone);
  h100.machine.sheet->hosts = 1;
  EXPECT_EQ(sums_s("np:8/tp:8/batch:8"), alone);
}

TEST(Outlook, OfRanksThatDivideLayersCutsStagesByTheirSums) {
  Knowledge h100{analytic::find_hardware("h100-sxm").machine};
  const std::string id = transformer + "1f1b/np:8/batch:16/micro:4/device:cuda/tp:4";
  const Subject shard = tensor_subject(look_up(parse_case(id)));
  const auto seconds = [&] { return profile_of(shard, analytic::Sizes(shard.model), h100).seconds; };
  const std::vector<double> before = seconds();
  h100.machine.sheet->gpu->link_bytes_per_s /= 1000;
  const std::vector<double> after = seconds();
  EXPECT_EQ(after.front(), before.front()) << "an embedding is whole on every rank";
  // Four sums of 4 samples, 32 tokens and 64 features in fp32, of whose bytes a ring of four sends 6/4.
  const double sums_s = 4 * 6. / 4 * (4 * 32 * 64 * 4) / (0.75 * 450e9);
  EXPECT_NEAR(after[1] - before[1], 999 * sums_s, 1e-9);
}

TEST(Outlook, OfProcessorsThatDivideLayersHasCoresForEachWhetherOneHostHoldsThemOrTwo) {
  Knowledge many = nothing_measured;
  many.machine.cores = 8;
  const auto update_s = [&](const std::string& ranks) {
    const std::string id = transformer + "data-parallel/tp:4/batch:4/" + ranks;
    for (const Term& term : make_outlook({.spec = parse_case(id), .id = id}, many).forecast.predicted.terms)
      if (term.name.starts_with("update")) return term.value;
    return 0.0;
  };
  EXPECT_GT(update_s("np:8"), 0);
  EXPECT_EQ(update_s("np:8"), update_s("np:16")) << "eight ranks draw on the memory of a host, either way";
  EXPECT_LT(update_s("np:4"), update_s("np:8"));
}

TEST(Outlook, OfRanksThatDivideLayersRefusesMemoryByTheFirstOfThem) {
  const std::string id = transformer + "1f1b/np:8/batch:16/micro:4/device:cuda/tp:4/memory:1MB/recompute:auto";
  EXPECT_THAT(refusal(id), testing::ContainsRegex("which rank [04] is predicted to need"));
}

TEST(Outlook, OfRanksThatDivideLayersTellsThemAll) {
  const Outlook all = outlook(transformer + "1f1b/np:16/batch:16/micro:4/dp:2/device:cuda/tp:4");
  int told = 0;
  for (const Term& term : all.forecast.predicted.terms)
    if (term.formula.find("busy ranks") != std::string::npos) {
      ++told;
      EXPECT_THAT(term.formula, testing::HasSubstr(", 16 busy ranks"));
    }
  EXPECT_GT(told, 0);
}

TEST(Outlook, OfDividedLayersRefusesWhatDoesNotDivide) {
  const std::string eight = transformer + "1f1b/np:8/batch:16/device:cuda";
  EXPECT_THAT(refusal(eight + "/tp:3"), testing::HasSubstr("tp: got '3', expected a divisor of np, 8"));
  EXPECT_THAT(refusal(eight + "/tp:8"), testing::HasSubstr("a divisor of the heads of "));
  EXPECT_THAT(refusal("mlp/cifar10-synthetic/1f1b/np:4/batch:8/tp:2"), testing::HasSubstr("tp: got '2', expected 1"));
}

TEST(Outlook, DividedLayersAreForecastToNobodyWhoRuns) {
  try {
    make_subject(parse_case(transformer + "1f1b/np:8/batch:16/tp:4"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("only predicted"));
    EXPECT_EQ(error.code(), ExitCode::usage);
  }
}

}  // namespace
}  // namespace parabench::suite
