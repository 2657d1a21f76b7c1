#include "suite/protocol/reply.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/results/samples.h"

namespace parabench::protocol {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto& phases = enum_values<Phase>;

analytic::Calibration calibration() {
  analytic::Calibration result;
  result.machine.id = "0123";
  result.machine.cores = 4;
  result.date = "2026-01-01T00:00:00Z";
  result.layers[{.layer = "linear"}] = {{.samples = 4, .forward_s = 0.25, .backward_s = 0.5}};
  result.all_reduce[{"mpi", 2}] = {{1024, 0.125}};
  result.step_overhead_s[DeviceKind::cpu] = 1e-6;
  return result;
}

Reply reply_to(Phase phase) {
  const results::Record record = results::ok_record("resnet18/cifar10-synthetic/gpipe/np:2/batch:32", 400);
  Reply reply{"0123456789abcdef", "a note", {}};
  switch (phase) {
    case Phase::probe: reply.answer = Offer{.devices = {DeviceKind::cpu}, .libtorch = "2"}; break;
    case Phase::verify: reply.answer = record.equivalence; break;
    case Phase::measure: reply.answer = *record.measured; break;
    case Phase::calibrate: reply.answer = calibration(); break;
    case Phase::paired:
      reply.answer = PairedRounds{{{calibration(),
                                    {0.5, 0.25},
                                    Breakdown{.forward = 0.125, .bubble = 0.25},
                                    {{0.5, 0.125}, {0}}},
                                   {calibration(), {1}, {}}},
                                  Canary{1e-4, 2e-3, 0.25, 7, 1.5}};
      break;
    case Phase::hand_over: reply.answer = HandOver{{2.5, 2.25, 2}}; break;
    case Phase::communicate:
      reply.answer = ExchangeTimings{{{"ring", {0.5, 0.25}, ""}, {"window", {2}, "told"}},
                                     "OMPI_MCA_btl_tcp_flags=1",
                                     Canary{1e-4, 2e-3, 0.25, 7, 1.5}};
      break;
  }
  return reply;
}

std::string refusal(const json& document, Phase phase) {
  try {
    reply_from_json(JsonReader(document, "reply.json: reply", "the same build?"), phase);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(Reply, ComesBackFromJsonInEveryPhase) {
  for (const Phase phase : phases) {
    const Reply reply = reply_to(phase);
    EXPECT_EQ(phase_of(reply), phase);
    const json document = json::parse(to_json(reply).dump());
    const Reply again = reply_from_json(JsonReader(document, "reply"), phase);
    EXPECT_EQ(phase_of(again), phase);
    EXPECT_EQ(again.plan_hash, reply.plan_hash);
    EXPECT_EQ(again.private_arenas_because, reply.private_arenas_because);
    EXPECT_EQ(to_json(again), to_json(reply));
  }
}

TEST(Reply, EveryMissingKeyIsNamed) {
  for (const Phase phase : phases) {
    const json good = to_json(reply_to(phase));
    for (const auto& item : good.items()) {
      json bad = good;
      bad.erase(item.key());
      EXPECT_THAT(refusal(bad, phase), AllOf(HasSubstr("reply.json: reply." + item.key() + ": got 'missing'"),
                                             HasSubstr("the same build?")));
    }
  }
}

TEST(Reply, AReplyToAnotherPhaseOrToNoneIsRefused) {
  json document = to_json(reply_to(Phase::probe));
  EXPECT_THAT(refusal(document, Phase::measure), HasSubstr("reply.phase: got '\"probe\"', expected phase measure"));
  document["phase"] = "prob";
  EXPECT_THAT(refusal(document, Phase::probe), AllOf(HasSubstr("reply.phase: got 'prob'"), HasSubstr("'probe'?")));
}

TEST(Reply, ALossThatIsNoNumberIsNamedWithItsStep) {
  Reply reply = reply_to(Phase::measure);
  std::get<results::Measured>(reply.answer).losses.at(1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal(json::parse(to_json(reply).dump()), Phase::measure),
              AllOf(HasSubstr("measured.losses[1]"), HasSubstr("finite number at step 1"), HasSubstr("smaller lr")));
  reply = reply_to(Phase::verify);
  std::get<results::Equivalence>(reply.answer).reference_losses = {1, std::numeric_limits<double>::infinity()};
  EXPECT_THAT(refusal(json::parse(to_json(reply).dump()), Phase::verify),
              AllOf(HasSubstr("equivalence.reference_losses[1]"), HasSubstr("finite number at step 1")));
}

TEST(Reply, WhatDoesNotFitIsABadInput) {
  for (const Phase phase : phases) {
    for (const json& document : results::mutations(to_json(reply_to(phase)))) {
      const std::string error = refusal(document, phase);
      if (error.empty()) continue;
      EXPECT_THAT(error, HasSubstr("reply.")) << document;
    }
  }
}

}  // namespace
}  // namespace parabench::protocol
