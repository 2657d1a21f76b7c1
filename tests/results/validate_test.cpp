#include "results/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.h"
#include "results/file.h"
#include "results/json_schema.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<SchemaViolation> check(const char* schema, const char* document) {
  return check_schema(json::parse(schema), json::parse(schema), json::parse(document));
}

TEST(Schema, AWrongFieldIsTheCauseNotTheAlternativesThatItDoesNotFit) {
  json document = json::parse(results_text(sample_files()[0]));
  document["records"][0]["status"] = "OK";
  const auto violations = validate_results(document);
  ASSERT_THAT(violations, testing::Not(testing::IsEmpty())) << "the cause comes first";
  EXPECT_EQ(violations[0].pointer, "/records/0/status");
  EXPECT_EQ(violations[0].message, R"(expected one of "ok", "skipped", "failed", got "OK")");
}

TEST(Schema, EveryKeywordAcceptsAndRefuses) {
  struct Row {
    const char *schema, *good, *bad;
  };
  const Row rows[] = {
      {R"({"type": "string"})", R"("a")", "1"},
      {R"({"type": ["integer", "null"]})", "null", R"("a")"},
      {R"({"type": "integer"})", "1.0", "1.5"},
      {R"({"type": "number"})", "1", "true"},
      {R"({"type": "boolean"})", "true", "1"},
      {R"({"type": "array"})", "[]", "{}"},
      {R"({"type": "object"})", "{}", "[]"},
      {R"({"enum": ["a", 1]})", "1", R"("b")"},
      {R"({"minimum": 1})", "1", "0.5"},
      {R"({"minimum": 1})", R"("not a number")", "0"},
      {R"({"exclusiveMinimum": 0})", "1e-300", "0"},
      {R"({"exclusiveMaximum": 1})", "0.9", "1"},
      {R"({"minLength": 1})", R"("a")", R"("")"},
      {R"({"pattern": "^[0-9]+$"})", R"("12")", R"("1x")"},
      {R"({"items": {"type": "integer"}})", "[1, 2]", R"([1, "a"])"},
      {R"({"minItems": 1})", "[1]", "[]"},
      {R"({"maxItems": 1})", "[1]", "[1, 2]"},
      {R"({"required": ["a"]})", R"({"a": null})", "{}"},
      {R"({"properties": {"a": {"type": "null"}}})", R"({"b": 1})", R"({"a": 1})"},
      {R"({"additionalProperties": false, "properties": {"a": true}})", R"({"a": 1})", R"({"b": 1})"},
      {R"({"additionalProperties": {"type": "null"}})", R"({"a": null})", R"({"a": 1})"},
      {R"({"anyOf": [{"type": "null"}, {"minimum": 3}]})", "3", "2"},
      {R"({"$ref": "#/definitions/a", "definitions": {"a": {"type": "null"}}})", "null", "1"},
      {R"({"properties": {"a": false}})", "{}", R"({"a": 1})"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(check(row.schema, row.good), IsEmpty()) << row.schema;
    EXPECT_THAT(check(row.schema, row.bad), testing::SizeIs(1)) << row.schema;
  }
}

TEST(Schema, NamesThePlaceAndTheExpectation) {
  const char* schema = R"({"properties": {"a/b": {"items": {"enum": ["x", "y"]}}}})";
  EXPECT_THAT(check(schema, R"({"a/b": ["x", "z"]})"),
              ElementsAre(SchemaViolation{"/a~1b/1", R"(expected one of "x", "y", got "z")"}));
}

TEST(Schema, RefusesKeywordsThatItDoesNotKnow) {
  EXPECT_THROW(check(R"({"multipleOf": 2})", "3"), std::logic_error);
  EXPECT_THROW(check(R"({"type": "float"})", "3"), std::logic_error);
}

TEST(Validate, AcceptsWhateverTheProgramWrites) {
  for (const ResultsFile& file : sample_files()) {
    EXPECT_THAT(validate_results(json::parse(results_text(file))), IsEmpty());
  }
}

TEST(Validate, NamesWhatIsWrong) {
  const json good = to_json(sample_files()[0]);
  json bad = good;
  bad["records"][0]["status"] = "done";
  EXPECT_THAT(
      validate_results(bad),
      Contains(SchemaViolation{"/records/0/status", R"(expected one of "ok", "skipped", "failed", got "done")"}));
  bad = good;
  bad["records"][0].erase("plan");
  EXPECT_THAT(validate_results(bad), ElementsAre(SchemaViolation{"/records/0", R"(lacks "plan")"}));
  bad = good;
  bad["records"][0]["measured"]["ranks"][1]["peak_memory_bytes"]["cache"] = 1;
  EXPECT_THAT(validate_results(bad), ElementsAre(SchemaViolation{"/records/0/measured/ranks/1/peak_memory_bytes",
                                                                 R"(has the unknown field "cache")"}));
  bad = good;
  bad["records"][0]["status"] = "failed";
  EXPECT_THAT(validate_results(bad),
              ElementsAre(SchemaViolation{"/records/0", "a skipped or failed record gives its reason"}));
}

TEST(Validate, RequireValidThrowsAUsageErrorWithThePlace) {
  try {
    require_valid(JsonReader(json::parse(R"({"step_time_s": 1})"), "reply.json"), "measured");
    FAIL() << "no complaint";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), testing::HasSubstr("reply.json"));
  }
  EXPECT_THROW(require_valid(JsonReader(json(), "reply.json"), "measured"), Error);
}

}  // namespace
}  // namespace parabench::results
