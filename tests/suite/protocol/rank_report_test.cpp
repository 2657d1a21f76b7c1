#include "suite/protocol/rank_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/case_text.h"
#include "base/error.h"
#include "tests/results/samples.h"
#include "tests/suite/protocol/any.h"

namespace parabench::protocol {
namespace {

using nlohmann::json;
using testing::HasSubstr;

RankReport any_report(Any& any) {
  RankReport report;
  results::RankMeasured& m = report.measured;
  m.rank = Rank(any.whole(0, 99));
  m.host = any.text();
  m.device = any.text();
  m.cpuset = any.text();
  for (auto& bytes : m.peak_memory.category) bytes = any.bytes();
  m.peak_memory.resident = any.bytes();
  m.peak_memory.reserved = any.flag() ? any.bytes() : 0;
  m.bytes_sent = any.bytes();
  m.bytes_received = any.bytes();
  if (any.flag()) {
    m.arithmetic =
        Arithmetic{.autocast = any.one_of<Precision>(), .matmul = any.one_of<Precision>(), .note = any.text()};
  }
  const auto span = [&] { return plan::Span{any.real(), any.real(), any.real(), any.real()}; };
  report.spans = any.list(1, 3, [&] { return any.list(0, 5, span); });
  report.isolated = any.list(0, 3, [&] { return RankReport::Interval{any.real(), any.real()}; });
  report.losses = any.list(0, 5, [&] { return any.real(); });
  report.ranks_on_device = any.whole(1, 4);
  return report;
}

std::string refusal(const json& document) {
  try {
    rank_report_from_json(JsonReader(document, "report of rank 1"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RankReport, ComesBackFromJson) {
  Any any(6);
  for (int i = 0; i < round_trips; ++i) {
    const RankReport report = any_report(any);
    const json document = json::parse(to_json(report).dump());
    const RankReport again = rank_report_from_json(JsonReader(document, "report"));
    EXPECT_EQ(again.spans, report.spans);
    EXPECT_EQ(again.isolated, report.isolated);
    EXPECT_EQ(again.losses, report.losses);
    EXPECT_EQ(again.ranks_on_device, report.ranks_on_device);
    EXPECT_EQ(again.measured.peak_memory, report.measured.peak_memory);
    EXPECT_EQ(again.measured.arithmetic, report.measured.arithmetic);
    EXPECT_EQ(to_json(again), to_json(report));
  }
}

TEST(RankReport, WhatDoesNotFitIsNamed) {
  Any any(7);
  RankReport report = any_report(any);
  report.spans = {{plan::Span{1, 2, 3, 0}}};
  const json good = to_json(report);
  for (const auto& item : good.items()) {
    json bad = good;
    bad.erase(item.key());
    EXPECT_THAT(refusal(bad), HasSubstr("report of rank 1." + item.key() + ": got 'missing'"));
  }
  json bad = good;
  bad["spans"][0][0] = {1, 2, 3};
  EXPECT_THAT(refusal(bad), HasSubstr("spans[0][0]: got '[1,2,3]', expected four times"));
  bad = good;
  bad["measured"].erase("host");
  EXPECT_THAT(refusal(bad), HasSubstr("measured.host"));
}

TEST(RankReport, WhatDoesNotFitIsABadInput) {
  Any any(8);
  for (int i = 0; i < 5; ++i) {
    for (const json& document : results::mutations(to_json(any_report(any)))) {
      const std::string error = refusal(document);
      if (error.empty()) continue;
      EXPECT_THAT(error, testing::StartsWith("report of rank 1")) << document;
    }
  }
}

}  // namespace
}  // namespace parabench::protocol
