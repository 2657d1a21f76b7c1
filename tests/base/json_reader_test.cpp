#include "base/json_reader.h"

#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace parabench {

enum class Weather { sunny, rainy };
constexpr std::array<std::string_view, 2> names_of(Weather) { return {"sunny", "rainy"}; }

namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const json document = json::parse(R"({
  "days": [{"weather": "rainy", "degrees": 12.5}, {"weather": "suny", "degrees": "hot", "wind": null}],
  "counts": {"birds": 3, "fish": -1}, "big": 4294967296, "bigger": 18446744073709551615, "yes": true, "none": null})");

JsonReader reader() { return {document, "diary.json: diary", "is it a diary?"}; }

std::string error_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}

TEST(JsonReader, ReadsEveryType) {
  const JsonReader first = reader().at("days").items().at(0);
  EXPECT_EQ(first.get<Weather>("weather"), Weather::rainy);
  EXPECT_EQ(first.get<std::string>("weather"), "rainy");
  EXPECT_EQ(first.get<double>("degrees"), 12.5);
  EXPECT_TRUE(reader().get<bool>("yes"));
  EXPECT_EQ(reader().get<std::int64_t>("big"), std::int64_t{1} << 32);
  EXPECT_EQ(reader().get<std::uint64_t>("bigger"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ((reader().get<std::map<std::string, int>>("counts")),
            (std::map<std::string, int>{{"birds", 3}, {"fish", -1}}));
  EXPECT_EQ(reader().at("counts").get<double>("birds"), 3);
  const json lists = json::parse("[[1, 2], [], [3]]");
  EXPECT_EQ(JsonReader(lists, "lists").as<std::vector<std::vector<int>>>(),
            (std::vector<std::vector<int>>{{1, 2}, {}, {3}}));
}

TEST(JsonReader, WhatIsAbsentOrNullIsNone) {
  EXPECT_FALSE(reader().has("none"));
  EXPECT_FALSE(reader().has("nobody"));
  EXPECT_TRUE(reader().has("yes"));
  EXPECT_EQ(reader().find<int>("none"), std::nullopt);
  EXPECT_EQ(reader().find<bool>("yes"), true);
  EXPECT_EQ(reader().get<std::optional<int>>("none"), std::nullopt);
}

TEST(JsonReader, AnErrorTellsFilePlaceValueExpectationAndHint) {
  const JsonReader second = reader().at("days").items().at(1);
  EXPECT_EQ(error_of([&] { second.get<double>("degrees"); }),
            "diary.json: diary.days[1].degrees: got '\"hot\"', expected a number; is it a diary?");
  EXPECT_EQ(error_of([&] { second.get<int>("rain"); }),
            "diary.json: diary.days[1].rain: got 'missing', expected this field; is it a diary?");
  EXPECT_THAT(error_of([&] { second.get<Weather>("weather"); }),
              AllOf(StartsWith("diary.json: diary.days[1].weather: got 'suny'"), HasSubstr("did you mean 'sunny'?")));
  EXPECT_THAT(error_of([] { reader().get<std::vector<int>>("counts"); }), HasSubstr("counts: got '{"));
}

TEST(JsonReader, WrongTypesAreRefused) {
  EXPECT_THAT(error_of([] { reader().get<int>("big"); }), HasSubstr("32 bits"));
  EXPECT_THAT(error_of([] { reader().get<std::int64_t>("bigger"); }), HasSubstr("'18446744073709551615'"));
  EXPECT_THAT(error_of([] { reader().at("counts").get<std::uint64_t>("fish"); }), HasSubstr(">= 0"));
  EXPECT_THAT(error_of([] { reader().get<int>("yes"); }), HasSubstr("an integer"));
  EXPECT_THAT(error_of([] { reader().get<double>("none"); }), HasSubstr("a number"));
  EXPECT_THAT(error_of([] { reader().get<bool>("big"); }), HasSubstr("true or false"));
  EXPECT_THAT(error_of([] { reader().get<std::string>("yes"); }), HasSubstr("a text"));
  EXPECT_THAT(error_of([] { reader().at("yes").at("x"); }), HasSubstr("an object"));
  EXPECT_THAT(error_of([] { reader().at("yes").has("x"); }), HasSubstr("an object"));
  EXPECT_THAT(error_of([] { reader().at("yes").items(); }), HasSubstr("a list"));
}

TEST(JsonReader, LowerLimitsHold) {
  const JsonReader counts = reader().at("counts");
  EXPECT_EQ(counts.get_at_least("birds", 3), 3);
  EXPECT_EQ(counts.get_at_least("fish", -1.0), -1.0);
  EXPECT_THAT(error_of([&] { counts.get_at_least("birds", 4); }),
              HasSubstr("counts.birds: got '3', expected an integer >= 4"));
  EXPECT_THAT(error_of([&] { counts.get_at_least("fish", 0.0); }), HasSubstr("a finite number >= 0"));
}

TEST(JsonReader, ForeignFieldsAreRefusedByName) {
  EXPECT_EQ(error_of([] { reader().at("counts").allow_only({"birds", "fish"}); }), "no error");
  EXPECT_THAT(error_of([] { reader().at("counts").allow_only({"birds"}); }), HasSubstr("diary.counts: got 'fish'"));
}

TEST(JsonReader, LongValuesAreCut) {
  const json longer = {{"list", std::vector<int>(1000, 1)}};
  EXPECT_LT(error_of([&] { JsonReader(longer, "x").get<int>("list"); }).size(), 150u);
}

}  // namespace
}  // namespace parabench
