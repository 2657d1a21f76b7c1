// validate-model: closed forms against published measurements, those in the program and a user's.
#include "base/file.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using nlohmann::json;

using ValidateModelTest = FrontTest;

const std::string table =
    "# one run\n"
    "source,row,models,quantity,value,use,devices,micro_batches\n"
    "mine,four,ddlbench-eq-6.1,speed_up,2.56,test,4,12\n";

TEST_F(ValidateModelTest, JudgesTheTablesInTheProgram) {
  const Outcome outcome = run({"validate-model"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  for (const std::string source : {"DDLBench GPipe 1 node", "torchgpipe AmoebaNet-D", "Megatron-LM SC'21",
                                   "Korthikanti times", "Korthikanti activations"})
    EXPECT_THAT(outcome.out, HasSubstr(source));
  EXPECT_EQ(run({"validate-model"}).out, outcome.out) << "the fits are deterministic";
}

TEST_F(ValidateModelTest, JudgesTablesOfTheUser) {
  write_atomically(path("mine.csv"), table);
  const Outcome outcome = run({"validate-model", "mine.csv"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("mine    speed_up  ddlbench-eq-6.1  1  20.0 %"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("Megatron")));
}

TEST_F(ValidateModelTest, JsonHasEveryRow) {
  write_atomically(path("mine.csv"), table);
  const Outcome outcome = run({"validate-model", "mine.csv", "--json", "-"});
  const json judgement = json::parse(outcome.out)["judgements"][0];
  EXPECT_EQ(judgement["source"], "mine");
  EXPECT_EQ(judgement["quantity"], "speed_up");
  EXPECT_EQ(judgement["n"], 1);
  EXPECT_NEAR(judgement["mean_absolute_error"].get<double>(), .2, 1e-9);
  EXPECT_NEAR(judgement["tests"][0]["predicted"].get<double>(), 3.2, 1e-9);
  EXPECT_EQ(judgement["tests"][0]["quality"], "printed");
  EXPECT_TRUE(judgement["rank_correlation"].is_null());

  const Outcome to_file = run({"validate-model", "mine.csv", "--json", "out.json"});
  EXPECT_THAT(to_file.out, HasSubstr("20.0 %"));
  EXPECT_EQ(read_text(path("out.json")), outcome.out);
}

TEST_F(ValidateModelTest, BadInputIsToldWithFileAndLine) {
  const auto expect_refused = [&](const std::string& text, const std::string& told) {
    write_atomically(path("bad.csv"), text);
    const Outcome outcome = run({"validate-model", "bad.csv"});
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_THAT(outcome.err, HasSubstr(told)) << text;
    EXPECT_THAT(outcome.out, IsEmpty());
  };
  expect_refused("", "bad.csv: got 'no header'");
  expect_refused("a,b\n", "bad.csv:1: column: got 'a'");
  expect_refused(table + "mine,five,ddlbench-eq-6.1,speed-up,2,test,4,12\n", "bad.csv:4: quantity: got 'speed-up'");
  expect_refused(table + "mine,five,ddlbench-eq-6.2,speed_up,2,test,4,12\n", "did you mean 'ddlbench-eq-6.1'?");
  expect_refused(table + "mine,five,ddlbench-eq-6.1,speed_up,fast,test,4,12\n", "bad.csv:4: value: got 'fast'");
  expect_refused(table + "mine,five,ddlbench-eq-6.1,speed_up,-2,test,4,12\n", "expected a number above 0");
  expect_refused(table + "mine,four,ddlbench-eq-6.1,speed_up,2,test,4,12\n", "bad.csv:4: row: got 'four'");
  expect_refused("source,row,models,quantity,value,use,devices\nmine,one,linear,samples_per_s,2,fit,4\n",
                 "bad.csv: got 'no row for a test'");
  EXPECT_THAT(run({"validate-model", "absent.csv"}).err, HasSubstr("absent.csv"));
  EXPECT_EQ(run({"validate-model", "absent.csv"}).code, 2);
  EXPECT_EQ(run({"validate-model", "."}).code, 2);
  write_atomically(path("mine.csv"), table);
  EXPECT_EQ(run({"validate-model", "mine.csv", "--json", "nowhere/out.json"}).code, 2);
}

}  // namespace
}  // namespace parabench::suite
