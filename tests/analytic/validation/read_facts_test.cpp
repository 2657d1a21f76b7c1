#include "analytic/validation/read_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "analytic/validation/fact_columns.h"
#include "analytic/validation/fact_models.h"
#include "analytic/validation/judge.h"
#include "analytic/validation/tables.h"
#include "base/error.h"
#include "base/file.h"
#include "base/random.h"

namespace parabench::analytic {
namespace {

using testing::HasSubstr;

const std::string header = "source,row,models,quantity,value,use,devices\n";

std::string error_of(const std::string& text) {
  try {
    judge(read_facts(text, "t.csv"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  ADD_FAILURE() << "no error of " << text;
  return "";
}

TEST(ReadFacts, ReadsColumnsInAnyOrderAndRemarks) {
  const auto facts = read_facts(
      "\xEF\xBB\xBF# whose\r\n\r\nuse, value,devices,source,row,models,quantity,quality,uncertainty,source_error\r\n"
      "test, 3.5 ,4,A,one,linear,speed_up,figure,.03,-0.25\r\n# more\nfit,7e0,8,A,two,linear,samples_per_s,,,",
      "t.csv");
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].source, "A");
  EXPECT_EQ(facts[0].row, "one");
  EXPECT_EQ(facts[0].models, std::vector<std::string>{"linear"});
  EXPECT_EQ(facts[0].quantity, Quantity::speed_up);
  EXPECT_DOUBLE_EQ(facts[0].value, 3.5);
  EXPECT_DOUBLE_EQ(facts[0].uncertainty, .03);
  EXPECT_EQ(facts[0].quality, Quality::figure);
  EXPECT_DOUBLE_EQ(facts[0].source_error.value(), -.25);
  EXPECT_DOUBLE_EQ(facts[0].configuration.devices, 4);
  EXPECT_EQ(facts[0].place, "t.csv:4");
  EXPECT_EQ(facts[1].use, Use::fit);
  EXPECT_EQ(facts[1].quality, Quality::printed);
  EXPECT_FALSE(facts[1].source_error);
}

TEST(ReadFacts, RefusesWrongHeaders) {
  EXPECT_THAT(error_of(""), HasSubstr("t.csv: got 'no header'"));
  EXPECT_THAT(error_of("# remark\n"), HasSubstr("no header"));
  EXPECT_THAT(error_of("source,row,models,quantity,value\n"), HasSubstr("a column use"));
  EXPECT_THAT(error_of("\nsource,row,models,quantity,valu,use\n"), HasSubstr("t.csv:2: column: got 'valu'"));
  EXPECT_THAT(error_of("source,row,models,quantity,valu,use\n"), HasSubstr("did you mean 'value'?"));
  EXPECT_THAT(error_of("source,row,models,quantity,value,use,row\n"), HasSubstr("got 'row', expected it once"));
}

TEST(ReadFacts, RefusesWrongRows) {
  const auto row = [](const std::string& text) { return error_of(header + "A,one,linear,speed_up,3,test,4\n" + text); };
  EXPECT_THAT(row("A,two,linear,speed_up,3,test"), HasSubstr("t.csv:3: got '6 fields', expected 7"));
  EXPECT_THAT(row("A,two,linear,speed_up,3,test,4,5"), HasSubstr("got '8 fields'"));
  EXPECT_THAT(row("A,two,linear,speed,3,test,4"), HasSubstr("t.csv:3: quantity: got 'speed'"));
  EXPECT_THAT(row("A,two,lineal,speed_up,3,test,4"), HasSubstr("did you mean 'linear'?"));
  EXPECT_THAT(row("A,two,linear linear,speed_up,3,test,4"), HasSubstr("each model once"));
  EXPECT_THAT(row("A,two,linear,share,3,test,4"),
              HasSubstr("t.csv:3: quantity: got 'share', expected one that linear predicts: speed_up, samples_per_s, "
                        "seconds_per_epoch; name another model"));
  EXPECT_THAT(row("A,two,ddlbench-eq-5.1,speed_up,3,test,4"),
              HasSubstr("t.csv:3: batch, sequential_samples_per_s, gradient_bytes, fusion_bytes, link_bytes_per_s: got "
                        "'', expected what ddlbench-eq-5.1 needs; each is a column of the header"));
  EXPECT_THAT(row("A,two,linear,speed_up,3,tests,4"), HasSubstr("use: got 'tests'"));
  EXPECT_THAT(row("A,two,linear,speed_up,three,test,4"), HasSubstr("t.csv:3: value: got 'three', expected a number"));
  EXPECT_THAT(row("A,two,linear,speed_up,3x,test,4"), HasSubstr("value: got '3x'"));
  EXPECT_THAT(row("A,two,linear,speed_up,-3,test,4"), HasSubstr("expected a number above 0"));
  EXPECT_THAT(row("A,two,linear,speed_up,0,test,4"), HasSubstr("expected a number above 0"));
  EXPECT_THAT(row("A,two,linear,speed_up,inf,test,4"), HasSubstr("value: got 'inf'"));
  EXPECT_THAT(row("A,two,linear,speed_up,1e999,test,4"), HasSubstr("value: got '1e999'"));
  EXPECT_THAT(row("A,two,linear,speed_up,,test,4"), HasSubstr("value: got '', expected a value"));
  EXPECT_THAT(row("A,two,linear,speed_up,3,test,"), HasSubstr("t.csv:3: devices: got '', expected what linear needs"));
  EXPECT_THAT(row("A,two,linear,speed_up,3,test,1.5"), HasSubstr("devices: got '1.5', expected a whole number"));
  EXPECT_THAT(row("A,two,linear,speed_up,3,test,1e10"), HasSubstr("whole number up to 1000000000"));
  EXPECT_THAT(row("A,one,linear,speed_up,3,test,4"),
              HasSubstr("t.csv:3: row: got 'one', expected one row of this name"));
}

TEST(ReadFacts, TheGuideTellsWhatEachModelNeeds) {
  const std::string guide = read_text(VALIDATION_GUIDE);
  for (const FactModel& model : fact_models()) {
    std::vector<std::string> needs;
    for (const std::string_view column : model.needs) needs.push_back(fmt::format("`{}`", column));
    EXPECT_THAT(guide, HasSubstr(fmt::format("\n| `{}` | {} |\n", model.name, fmt::join(needs, ", "))));
  }
}

TEST(ReadFacts, RefusesFilesThatJudgeNothing) {
  EXPECT_THAT(error_of(header), HasSubstr("t.csv: got 'no row for a test'"));
  EXPECT_THAT(error_of(header + "A,one,linear,samples_per_s,3,fit,4\n"), HasSubstr("no row for a test"));
  const std::string test = "B,one,linear,speed_up,3,test,4\n";
  EXPECT_THAT(error_of(header + test + "A,one,linear,samples_per_s,3,fit,4\n"),
              HasSubstr("t.csv:3: use: got 'fit', expected a row of A whose use is test, too"));
  EXPECT_THAT(error_of(header + test + "A,one,linear,speed_up,3,fit,4\n"), HasSubstr("none of the row's models"));
  EXPECT_THAT(error_of(header + "A,one,linear,samples_per_s,3,test,4\n"), HasSubstr("a row of A whose use is fit"));
}

TEST(ReadFacts, RefusesConfigurationsWithoutAPrediction) {
  EXPECT_THAT(error_of("source,row,models,quantity,value,use,devices,samples,sequential_samples_per_s\n"
                       "A,one,linear,seconds_per_epoch,3,test,1000,1,1e308\n"),
              HasSubstr("t.csv:2: got 'one', expected a configuration for which linear has a prediction"));
}

TEST(ReadFacts, EveryTableOfTheRepositoryReads) {
  for (const FactTable& table : fact_tables()) {
    const auto facts = read_facts(table.text, std::string(table.name));
    EXPECT_FALSE(judge(facts).empty()) << table.name;
    for (const Fact& fact : facts) EXPECT_TRUE(fact.quality != Quality::figure || fact.uncertainty > 0) << fact.place;
  }
}

/// Whatever stands in a damaged table, it is judged, or refused with its name.
TEST(ReadFacts, DamagedTablesAreJudgedOrRefused) {
  constexpr std::string_view bytes = "0.,-\n# e9atest";
  int refused = 0;
  for (const FactTable& table : fact_tables()) {
    for (std::uint64_t round = 0; round < 200; ++round) {
      std::string text(table.text);
      const auto drawn = [&](std::uint64_t which, std::size_t below) {
        return static_cast<std::size_t>(counter_uniform(1, which, round) * static_cast<double>(below));
      };
      for (std::uint64_t i = 0; i < 3; ++i) text[drawn(2 * i, text.size())] = bytes[drawn(2 * i + 1, bytes.size())];
      if (round % 4 == 0) text.resize(drawn(9, text.size()));
      try {
        judge(read_facts(text, "damaged.csv"));
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_THAT(error.what(), HasSubstr("damaged.csv")) << text;
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace parabench::analytic
