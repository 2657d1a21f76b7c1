// list --strategies, --models, --datasets, --keys.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "base/case_key.h"
#include "base/case_text.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using nlohmann::json;

class TablesTest : public FrontTest {
 protected:
  json table(const std::string& name) {
    const Outcome outcome = run({"list", "--" + name, "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  }
};

/// Cells are folded to lines, so that their words need not follow each other in the text.
void expect_words(const std::string& text, std::string_view cell) {
  std::istringstream words{std::string(cell)};
  for (std::string word; words >> word;) {
    EXPECT_THAT(text, HasSubstr(word)) << cell;
  }
}

TEST_F(TablesTest, NameEveryStrategyWithWhatItReadsAndWhereItComesFrom) {
  const std::string text = run({"list", "--strategies"}).out;
  const json rows = table("strategies");
  ASSERT_EQ(rows.size(), plan::strategies().size());
  for (const json& row : rows) {
    const plan::Strategy& strategy = plan::find_strategy(row["name"].get<std::string>());
    for (const std::string_view cell : {strategy.name, strategy.summary, strategy.paper}) expect_words(text, cell);
    for (const auto& key : row["keys"]) EXPECT_TRUE(strategy.uses(key.get<std::string>())) << key;
  }
}

TEST_F(TablesTest, RefuseExactlyThePairsThatPlanRefuses) {
  for (const json& row : table("strategies")) {
    const std::string name = row["name"];
    if (row["ranks"] != "stages" || row["schedule_from_file"] == true || name == "model-parallel") continue;
    const bool reads_micro = plan::find_strategy(name).uses("micro");
    for (const auto& [ranks, micro] :
         std::vector<std::pair<int, int>>{{2, 2}, {2, 3}, {3, 2}, {3, 5}, {4, 2}, {4, 8}}) {
      std::ostringstream id;
      id << "mlp[layers=12,hidden=8]/cifar10-synthetic/" << name << "/np:" << ranks << "/batch:16";
      if (reads_micro) id << "/micro:" << micro;
      const auto& refused = row["refused"];
      const bool expected = std::find(refused.begin(), refused.end(), json{ranks, micro}) != refused.end();
      EXPECT_EQ(run({"plan", id.str()}).code, expected ? 2 : 0) << id.str();
    }
  }
}

TEST_F(TablesTest, NameEveryKeyInTheOrderOfIds) {
  const json rows = table("keys");
  ASSERT_EQ(rows.size(), case_keys().size());
  const std::string text = run({"list", "--keys"}).out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CaseKey& key = case_keys()[i];
    EXPECT_EQ(rows[i]["name"], key.name);
    expect_words(text, key.help);
    EXPECT_EQ(rows[i]["strategies"].is_null(), !key.is_of_strategies()) << key.name;
    // A default is left out of the id that it was given in.
    if (rows[i]["default"].is_null()) continue;
    const auto listed = json::parse(
        run({"list", sequential + "/" + std::string(key.name) + ":" + rows[i]["default"].get<std::string>(), "--json"})
            .out);
    EXPECT_EQ(listed[0]["id"], sequential) << key.name;
  }
}

TEST_F(TablesTest, NameModelsAndDataSetsThatCasesCanName) {
  std::vector<std::string> models, datasets;
  for (const json& row : table("models")) {
    NamedChoice model{row["name"], {}};
    for (const json& parameter : row["parameters"]) {
      const json& usual = parameter["default"];
      model.parameters.emplace_back(parameter["name"], usual.is_string() ? usual.get<std::string>() : usual.dump());
    }
    models.push_back(to_text(model));
  }
  for (const json& row : table("datasets")) datasets.push_back(row["name"]);
  // Not every network goes with every data set, but each with some.
  const auto go_together = [&](const std::string& model, const std::string& dataset) {
    return run({"plan", model + "/" + dataset + "/sequential/np:1/batch:4"}).code == 0;
  };
  for (const std::string& model : models)
    EXPECT_TRUE(std::ranges::any_of(datasets, [&](const auto& dataset) { return go_together(model, dataset); }))
        << model;
  for (const std::string& dataset : datasets)
    EXPECT_TRUE(std::ranges::any_of(models, [&](const auto& model) { return go_together(model, dataset); })) << dataset;
  EXPECT_THAT(run({"list", "--models"}).out, AllOf(HasSubstr("layers=12"), HasSubstr("tied=off (off or on)")));
  EXPECT_THAT(run({"list", "--datasets"}).out, HasSubstr("3x224x224"));
}

TEST_F(TablesTest, FoldLongCellsUnderTheirColumn) {
  std::istringstream lines(run({"list", "--keys"}).out);
  std::string heads, line;
  std::getline(lines, heads);
  while (std::getline(lines, line)) {
    EXPECT_LE(line.size(), 132u) << line;
    // A line that goes on has nothing under "key", and every column begins where its head does.
    for (const std::string head : {"default", "accepts", "what it is", "read by"}) {
      const std::size_t column = heads.find(head);
      EXPECT_TRUE(line.size() <= column || line[column - 1] == ' ') << line;
    }
  }
}

TEST_F(TablesTest, StandAloneAndInHelp) {
  EXPECT_EQ(run({"list", "--strategies", "--models"}).code, 2);
  const Outcome chosen = run({"list", "--set", "quick", "--strategies"});
  EXPECT_EQ(chosen.code, 2);
  EXPECT_THAT(chosen.err, AllOf(HasSubstr("--set"), HasSubstr("parabench list --strategies prints the whole table"),
                                HasSubstr("parabench list --set NAME lists cases")));
  EXPECT_EQ(run({"list", gpipe, "--keys"}).code, 2);
  EXPECT_EQ(run({"list", "--where", "np=2", "--keys"}).code, 2);
  EXPECT_THAT(run({"list", "--help"}).out,
              AllOf(HasSubstr("--strategies"), HasSubstr("--models"), HasSubstr("--datasets"), HasSubstr("--keys")));
}

}  // namespace
}  // namespace parabench::suite
