#include "suite/protocol/exchange_work.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/case_text.h"
#include "base/error.h"
#include "tests/results/samples.h"
#include "tests/suite/protocol/any.h"

namespace parabench::protocol {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

ExchangeWork any_work(Any& any) {
  ExchangeWork work;
  work.setting = {.np = 4 * any.whole(1, 8),
                  .reduce = any.one_of<ReduceKind>(),
                  .precision = any.flag() ? Precision::fp32 : Precision::fp64,
                  .comm = any.flag() ? CommKind::mpi : CommKind::threads};
  work.iterations = any.whole(1, 50);
  work.warmup = any.whole(0, 5);
  work.exchanges = any.list(0, 5, [&] {
    return Exchange{any.one_of<ExchangeKind>(), 8 * any.whole(1, 1 << 20), any.flag() ? 2 : work.setting.np};
  });
  return work;
}

ExchangeWork work() { return {{.np = 4, .reduce = ReduceKind::ring}, 20, 5, {{ExchangeKind::all_gather, 1024, 2}}}; }

std::string refusal(const json& document) {
  try {
    exchange_work_from_json(JsonReader(document, "work"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(ExchangeWork, ComesBackFromJson) {
  Any any(1);
  for (int i = 0; i < round_trips; ++i) {
    const ExchangeWork one = any_work(any);
    const json document = json::parse(to_json(one).dump());
    EXPECT_EQ(exchange_work_from_json(JsonReader(document, "work")), one) << document;
  }
}

TEST(ExchangeWork, HasAHashOfAllThatItSays) {
  ExchangeWork other = work();
  EXPECT_EQ(hash(other), hash(work()));
  other.exchanges[0].bytes += 4;
  EXPECT_NE(hash(other), hash(work()));
}

TEST(ExchangeWork, ThatNoLaunchCouldDoIsRefused) {
  const auto with = [](const char* pointer, const json& value) {
    json document = to_json(work());
    document[json::json_pointer(pointer)] = value;
    return document;
  };
  EXPECT_EQ(refusal(to_json(work())), "");
  EXPECT_THAT(refusal(with("/exchanges/0/members", 3)), AllOf(HasSubstr("members"), HasSubstr("a divisor of 4")));
  EXPECT_THAT(refusal(with("/exchanges/0/bytes", 1026)), AllOf(HasSubstr("bytes"), HasSubstr("a multiple of 4")));
  EXPECT_THAT(refusal(with("/exchanges/0/bytes", 0)), HasSubstr("bytes"));
  EXPECT_THAT(refusal(with("/np", 1)), HasSubstr("np"));
  EXPECT_THAT(refusal(with("/precision", "bf16")), HasSubstr("fp32 or fp64"));
  EXPECT_THAT(refusal(with("/comm", "nccl")), HasSubstr("mpi or threads"));
  EXPECT_THAT(refusal(with("/iterations", 0)), HasSubstr("iterations"));
}

TEST(ExchangeWork, WhatDoesNotFitIsABadInput) {
  for (const json& document : results::mutations(to_json(work()))) {
    const std::string error = refusal(document);
    if (!error.empty()) {
      EXPECT_THAT(error, HasSubstr("work")) << document;
    }
  }
}

TEST(ExchangeTimings, ATimeThatIsNoneIsRefused) {
  const json document = to_json(ExchangeTimings{{{"ring", {1e-3, 0}, ""}}});
  EXPECT_THROW(exchange_timings_from_json(JsonReader(document, "timings")), Error);
}

}  // namespace
}  // namespace parabench::protocol
