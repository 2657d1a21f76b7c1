// The schema of a record's parameters against the declarations of the keys.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/case_key.h"
#include "results/file.h"
#include "results/validate.h"

namespace parabench::results {
namespace {

using nlohmann::json;

/// An entry of the schema, its reference followed.
json followed(const json& entry) {
  return entry.contains("$ref") ? results_schema().at(json::json_pointer(entry["$ref"].get<std::string>().substr(1)))
                                : entry;
}

std::string json_type(KeyType type) {
  switch (type) {
    case KeyType::integer:
    case KeyType::size: return "integer";
    case KeyType::number: return "number";
    case KeyType::on_off: return "boolean";
    case KeyType::named_choice: return "object";
    case KeyType::choice: break;
  }
  return "string";
}

TEST(KeySchema, HoldsEveryKeyAsItIsDeclared) {
  const json& parameters = results_schema().at("definitions").at("parameters");
  std::set<std::string> known = {"model", "dataset", "strategy"}, required = known;
  for (const CaseKey& key : case_keys()) {
    const std::string name(key.name);
    known.insert(name);
    if (key.since == KeyDeclaration{}.since) required.insert(name);
    ASSERT_TRUE(parameters["properties"].contains(name)) << name;
    const json entry = followed(parameters["properties"][name]);
    if (key.type == KeyType::choice) {
      EXPECT_EQ(entry["enum"], json(std::vector<std::string>(key.choices.begin(), key.choices.end()))) << name;
    } else {
      const json type = json_type(key.type), wanted = key.optional ? json::array({type, "null"}) : type;
      EXPECT_EQ(entry["type"], wanted) << name;
    }
  }
  std::set<std::string> properties;
  for (const auto& [name, entry] : parameters["properties"].items()) properties.insert(name);
  EXPECT_EQ(properties, known);
  EXPECT_EQ(parameters["required"].get<std::set<std::string>>(), required);
}

TEST(KeySchema, HasTheVersionThatIsWrittenAndAllThatKeysName) {
  const auto versions =
      results_schema().at("properties").at("schema_version").at("enum").get<std::vector<std::string>>();
  EXPECT_EQ(versions.back(), results_schema_version);
  EXPECT_EQ(results_schema().at("$id"), "results-" + versions.back() + ".schema.json");
  for (const CaseKey& key : case_keys()) EXPECT_THAT(versions, testing::Contains(key.since)) << key.name;
}

}  // namespace
}  // namespace parabench::results
