#include "suite/protocol/failure.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/results/samples.h"
#include "tests/suite/protocol/any.h"

namespace parabench::protocol {
namespace {

using nlohmann::json;

TEST(RankError, ComesBackFromJson) {
  Any any(2);
  for (int i = 0; i < round_trips; ++i) {
    const RankError error{Rank(any.whole(0, 100)), any.one_of<FailureKind>(), any.text()};
    const json document = json::parse(to_json(error).dump());
    EXPECT_EQ(rank_error_from_json(JsonReader(document, "error")), error);
  }
}

TEST(RankError, AnUnknownKindIsNamed) {
  const json document = {{"rank", 1}, {"kind", "falure"}, {"message", ""}};
  try {
    rank_error_from_json(JsonReader(document, "error-1.json: error"));
    FAIL() << "no complaint";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "error-1.json: error.kind: got 'falure', expected one of usage, environment, failure, not_a_number, "
                 "peer; did you mean 'failure'?");
  }
}

TEST(RankError, WhatDoesNotFitIsABadInput) {
  for (const json& document : results::mutations(to_json(RankError{Rank(1), FailureKind::usage, "text"}))) {
    try {
      rank_error_from_json(JsonReader(document, "error"));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("error")) << document;
    }
  }
}

}  // namespace
}  // namespace parabench::protocol
