// Schedules that come from a file.
#include "parallelism/plan/formats/given_schedule.h"

#include <gmock/gmock.h>

#include "parallelism/plan/formats/print_csv.h"
#include "parallelism/plan/formats/print_text.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/meaning.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* two_ranks = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";

Case csv_case(const GivenSchedule& given, int dp = 1) {
  Case spec = case_of("csv", static_cast<int>(given.ranks.size()) * dp, given.micro_batches * dp);
  spec.strategy.parameters = {{"sha", given.sha}};
  spec.micro = given.micro_batches;
  spec.dp = dp;
  return spec;
}

Plan test_plan(const GivenSchedule& given, int layers, int dp = 1, Recompute recompute = Recompute::none) {
  Case spec = csv_case(given, dp);
  spec.recompute = recompute;
  return make_plan(spec, chain_model(layers), std::vector<double>(layers, 1.0), 1, &given);
}
Plan test_plan(const std::string& text) {
  const GivenSchedule given = read_csv(text);
  return test_plan(given, given.stages);
}

std::string refusal(const std::string& text) {
  try {
    read_csv(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "accepted";
}

TEST(GivenSchedule, TakesBlankCellsParametersLineEndsAndPairs) {
  const GivenSchedule plain = read_csv(two_ranks);
  EXPECT_EQ(plain.stages, 2);
  EXPECT_EQ(plain.micro_batches, 2);
  EXPECT_TRUE(plain.in_order);
  EXPECT_THAT(plain.ranks[1], ElementsAre(GivenPass{OpKind::forward, StageId(1), MicroBatchId(0)},
                                          GivenPass{OpKind::backward, StageId(1), MicroBatchId(0)},
                                          GivenPass{OpKind::forward, StageId(1), MicroBatchId(1)},
                                          GivenPass{OpKind::backward, StageId(1), MicroBatchId(1)}));
  const GivenSchedule torch =
      read_csv("0UNSHARD,0F0,0F1,,,0B0, 0B1 ,0REDUCE_GRAD,0RESHARD\r\n,1F0,1B0,1F1,1B1,1REDUCE_GRAD\r\n\r\n");
  EXPECT_EQ(torch.ranks, plain.ranks);
  EXPECT_EQ(torch.sha, plain.sha);
  const GivenSchedule pairs = read_csv("0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n");
  EXPECT_TRUE(pairs.ranks[1][1].overlaps_next);
  EXPECT_NE(pairs.sha, plain.sha);
  EXPECT_EQ(pairs.sha.size(), 16u);
}

TEST(GivenSchedule, SaysWhetherMicroBatchesStayInOrder) {
  EXPECT_TRUE(read_csv("0F0,0F1,0B0,0B1\n").in_order);
  EXPECT_FALSE(read_csv("0F0,0F1,0B1,0B0\n").in_order);
  const Plan reversed = test_plan("0F0,0F1,0B1,0B0\n");
  EXPECT_FALSE(reversed.in_order);
  EXPECT_THAT(validate(reversed), IsEmpty());
}

TEST(GivenSchedule, MayPlaceStagesAnywhere) {
  const Plan plan = test_plan("1F0,2F0,2B0,1B0\n0F0,3F0,3I0,0I0,3W0,0W0\n");
  EXPECT_THAT(validate(plan), IsEmpty());
  EXPECT_EQ(to_text(plan), "p0 1F0 2F0 2B0 1B0\np1 0F0 3F0 3I0 0I0 3W0 0W0\n");
  EXPECT_TRUE(meaning_of(plan));
}

TEST(GivenSchedule, RefusesWhatCannotRunNamingActionRankAndRule) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> bad = {
      {"", {"schedule", "the file is blank"}},
      {"\n,,\r\n", {"schedule", "the file is blank"}},
      {"0F0,0B0\n,\n1F0,1B0\n", {"rank 1", "at least one action"}},
      {"0F0,0B0\n1G0", {"rank 1, 1G0", "'no action'", "stage, kind and micro-batch"}},
      {"0F0,0B", {"rank 0, 0B", "'no action'"}},
      {"F0,0B0", {"rank 0, F0", "'no action'"}},
      {"0F-1", {"rank 0, 0F-1", "'no action'"}},
      {"0F99999999999", {"rank 0, 0F99999999999", "'no action'"}},
      {"0F0,0F2147483647", {"rank 0, 0F2147483647", "'no action'", "below 1000000"}},
      {"0FORWARD0", {"rank 0, 0FORWARD0", "'no action'"}},
      {"(0F0;0B0)OVERLAP", {"rank 0, (0F0;0B0)OVERLAP", "'no pair'"}},
      {"(0F0;0F1)OVERLAP_F_B", {"(0F0;0F1)OVERLAP_F_B", "'no pair'"}},
      {"(0F0)OVERLAP_F_B", {"(0F0)OVERLAP_F_B", "'no pair'"}},
      {"(0F0;0B0", {"(0F0;0B0", "'no pair'"}},
      {"0F0,0F0,0B0", {"rank 0, 0F0", "'repeated'", "every action once"}},
      {"0F0,0B0\n0F1,0B1", {"rank 1, 0F1", "'on a second rank'", "stage 0 on rank 0 alone"}},
      {"0F0,0B0\n2F0,2B0", {"stage 1", "'missing'", "rank 1 computes stage 2"}},
      {"0F0,0F1,0B0", {"rank 0, 0B1", "'missing'", "0 to 1, on every stage"}},
      {"0F0,0F2,0B0,0B2", {"rank 0, 0F1", "'missing'"}},
      {"0F0,0B0\n1F0,1I0", {"rank 1, 1W0", "'missing'"}},
      {"0F0,0B0,0I0,0W0", {"rank 0, 0B0", "'repeated'", "either B or I and W"}},
      {"0B0,0F0", {"rank 0, 0B0", "'too early'", "after 0F0"}},
      {"0F0,0W0,0I0", {"rank 0, 0W0", "'too early'", "after 0I0"}},
      {"0UNSHARD,0SEND_F0", {"'no passes'"}},
      {"0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0", {"rank 1, 1RECV_F0", "'missing'", "messages in the whole file"}},
      {"0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0", {"rank 0, 0RECV_B0", "'missing'"}},
      {"0F0,5SEND_F0,0B0", {"rank 0, 5SEND_F0", "'unknown stage'", "stages 0 to 0"}},
      {"0F0,0SEND_F0,0B0", {"rank 0, 0SEND_F0", "'in vain'"}},
      {"0F0,1RECV_F0,0B0\n1F0,1B0", {"rank 0, 1RECV_F0", "'in vain'"}},
      {"0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0", {"rank 0, 0SEND_F0", "'too early'", "after 0F0"}},
      {"0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0", {"rank 1, 1RECV_F0", "'too late'", "before 1F0"}},
      {"0F0,2F0,0F1,2F1,2B0,2B1,0B0,0B1\n1F1,1F0,3F0,3F1,3B0,3B1,1B0,1B1",
       {"rank 0, 2F0", "'waits for ever'", "needs 1F0, which comes behind 1F1 on rank 1"}},
  };
  for (const auto& [text, said] : bad) {
    for (const std::string& part : said) EXPECT_THAT(refusal(text), HasSubstr(part)) << text;
  }
}

/// What remains of a plan when only its operations count.
Plan bare(Plan plan) {
  plan.spec = {};
  for (RankProgram& rank : plan.ranks) rank.in_flight = 0;
  return plan;
}

TEST(GivenSchedule, RoundTripsEveryScheduleOfOnePipeline) {
  std::vector<std::string> seen;
  const auto expect_same = [&](const Case& spec, int layers) {
    const Plan plan = plan::test_plan(spec, layers);
    const GivenSchedule given = read_csv(to_csv(plan));
    Case csv = spec;
    csv.strategy = {"csv", {{"sha", given.sha}}};
    csv.micro = given.micro_batches;
    csv.chunks = Case{}.chunks;
    csv.warmup.reset();
    const std::vector<double> seconds(layers, 1.0);
    const Plan again = make_plan(csv, chain_model(layers), seconds, 1, &given);
    ASSERT_EQ(bare(again), bare(plan)) << to_csv(plan);
    EXPECT_EQ(to_csv(again), to_csv(plan));
    EXPECT_EQ(read_csv(to_csv(again)).sha, given.sha);
    seen.push_back(spec.strategy.name);
  };
  std::mt19937 random(13);
  for (int round = 0; round < 800; ++round) {
    int layers = 0;
    const Case spec = random_case(random, layers);
    const Strategy& strategy = find_strategy(spec.strategy.name);
    const bool crossed = strategy.schedule.stages == StageOrder::crossed;
    if (strategy.schedule.order && !crossed && is_possible(spec, layers)) expect_same(spec, layers);
  }
  for (const std::string& name : schedule_names()) {
    EXPECT_EQ(std::ranges::find(seen, name) == seen.end(), name == "chimera") << name;
  }
}

// Cells dropped, repeated, exchanged or moved at random: whatever is still accepted is a good plan of the same work.
TEST(GivenSchedule, ThatIsAcceptedIsValid) {
  std::mt19937 random(17);
  int accepted = 0, refused = 0;
  std::vector<std::string> names = schedule_names();
  std::erase(names, "chimera");  // the format cannot say its two directions
  for (int round = 0; round < 1500; ++round) {
    const std::string name = names[uniform(random, 0, static_cast<int>(names.size()) - 1)];
    Case spec = pipeline_case(name, uniform(random, 1, 3), uniform(random, 1, 4));
    if (!is_possible(spec, find_strategy(name).stages(spec))) continue;
    const Plan good = plan::test_plan(spec);
    std::vector<std::vector<std::string>> rows(1);
    for (const char c : to_csv(good)) {
      if (c == '\n') {
        rows.emplace_back();
      } else if (c == ',' || rows.back().empty()) {
        rows.back().push_back(c == ',' ? "" : std::string(1, c));
      } else {
        rows.back().back() += c;
      }
    }
    rows.pop_back();
    const bool bare_file = uniform(random, 0, 1) == 1;
    const auto is_message = [](const std::string& cell) { return cell.find('_') != std::string::npos; };
    if (bare_file) {
      for (auto& row : rows) std::erase_if(row, is_message);
    }
    auto& row = rows[uniform(random, 0, static_cast<int>(rows.size()) - 1)];
    auto& other = rows[uniform(random, 0, static_cast<int>(rows.size()) - 1)];
    const int i = uniform(random, 0, static_cast<int>(row.size()) - 1);
    const int j = uniform(random, 0, static_cast<int>(other.size()) - 1);
    switch (uniform(random, 0, 3)) {
      case 0: row.erase(row.begin() + i); break;
      case 1: other.insert(other.begin() + j, std::string(row[i])); break;
      case 2: std::swap(row[i], other[j]); break;
      default: row[i][uniform(random, 0, static_cast<int>(row[i].size()) - 1)] = "0123BFIW"[uniform(random, 0, 7)];
    }
    std::string text;
    for (const auto& cells : rows) {
      for (const std::string& cell : cells) text.append(cell).append(",");
      text += '\n';
    }
    try {
      const GivenSchedule given = read_csv(text);
      const Plan plan = test_plan(given, plan::test_plan(spec).stages);
      ++accepted;
      ASSERT_THAT(validate(plan), IsEmpty()) << text;
      ASSERT_EQ(meaning_of(plan), meaning_of(good)) << text;
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.code(), ExitCode::usage);
    }
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 500);
}

TEST(GivenSchedule, IsReadInTimeThatGrowsWithItsActions) {
  // Row by row in the order in which nobody can start: to ask every rank again after each action never ends.
  constexpr int stages = 50'000;
  std::string text;
  for (int stage = stages - 1; stage >= 0; --stage) {
    const std::string number = std::to_string(stage);
    text += number + "F0," + number + "B0\n";
  }
  const GivenSchedule schedule = read_csv(text);
  EXPECT_EQ(schedule.stages, stages);
  EXPECT_EQ(schedule.ranks.front().front().stage, StageId(stages - 1));
}

TEST(GivenSchedule, RunsInCopies) {
  const GivenSchedule given = read_csv(two_ranks);
  const Plan plan = test_plan(given, 4, 2);
  EXPECT_THAT(validate(plan), IsEmpty());
  EXPECT_EQ(plan.replicas, 2);
  EXPECT_THAT(holders(plan, StageId(1)), ElementsAre(Rank(1), Rank(3)));
  EXPECT_TRUE(reduces(plan.ranks[2]));
}

std::string case_refusal(const Case& spec, const GivenSchedule* given) {
  try {
    check_case(spec, chain_model(2), given);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "accepted";
}

TEST(GivenSchedule, MustBeTheOneOfTheCase) {
  const GivenSchedule given = read_csv(two_ranks);
  const Case good = csv_case(given);
  EXPECT_EQ(case_refusal(good, &given), "accepted");
  EXPECT_THAT(case_refusal(good, nullptr), AllOf(HasSubstr("csv[sha=" + given.sha), HasSubstr("add --schedule FILE")));
  Case other = good;
  other.strategy.parameters = {{"sha", "0123456789abcdef"}};
  EXPECT_THAT(case_refusal(other, &given), AllOf(HasSubstr("'0123456789abcdef'"), HasSubstr(given.sha)));
  other = good;
  other.np = 4;
  EXPECT_THAT(case_refusal(other, &given), AllOf(HasSubstr("np: got '4'"), HasSubstr("try np:2")));
  other = good;
  other.dp = 2;
  EXPECT_THAT(case_refusal(other, &given), AllOf(HasSubstr("np: got '2'"), HasSubstr("2 copies"), HasSubstr("np:4")));
  other = good;
  other.micro = 4;
  EXPECT_THAT(case_refusal(other, &given), AllOf(HasSubstr("micro: got '4'"), HasSubstr("try micro:2")));
  const GivenSchedule deep = read_csv("0F0,1F0,2F0,2B0,1B0,0B0\n");
  EXPECT_THAT(case_refusal(csv_case(deep), &deep), AllOf(HasSubstr("'3 stages'"), HasSubstr("at most 2")));
}

}  // namespace
}  // namespace parabench::plan
