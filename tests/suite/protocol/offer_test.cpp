#include "suite/protocol/offer.h"

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

Offer any_offer(Any& any) {
  Offer offer{.devices = any.list(0, 3, [&] { return any.one_of<DeviceKind>(); }),
              .communicators = any.list(0, 3, [&] { return any.one_of<CommKind>(); }),
              .libtorch = any.text(),
              .mpi = any.text()};
  if (any.flag()) offer.obstacles["cuda"] = any.text();
  if (any.flag()) {
    offer.gpu = GpuProbe{.driver = any.text(),
                         .runtime = any.text(),
                         .cudnn = any.text(),
                         .nccl = any.text(),
                         .nccl_init = any.text(),
                         .gpus = any.list(0, 3,
                                          [&] {
                                            return results::HostGpu{any.text(), any.text(), 90, any.bytes()};
                                          }),
                         .obstacle = any.text()};
  }
  return offer;
}

std::string refusal(const json& document) {
  try {
    offer_from_json(JsonReader(document, "offer"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Offer, ComesBackFromJson) {
  Any any(3);
  for (int i = 0; i < round_trips; ++i) {
    const Offer offer = any_offer(any);
    const json document = json::parse(to_json(offer).dump());
    EXPECT_EQ(offer_from_json(JsonReader(document, "offer")), offer) << document;
  }
}

TEST(Offer, SaysWhatItHolds) {
  const Offer offer{.devices = {DeviceKind::cpu}, .communicators = {CommKind::threads}};
  EXPECT_TRUE(offers(offer, DeviceKind::cpu));
  EXPECT_FALSE(offers(offer, DeviceKind::cuda));
  EXPECT_TRUE(offers(offer, CommKind::threads));
  EXPECT_FALSE(offers(offer, CommKind::mpi));
}

TEST(Offer, WhatDoesNotFitIsNamed) {
  Any any(4);
  Offer offer = any_offer(any);
  while (!offer.gpu || offer.gpu->gpus.empty() || offer.devices.empty()) offer = any_offer(any);
  const json good = to_json(offer);
  json bad = good;
  bad["devices"][0] = "cqu";
  EXPECT_THAT(refusal(bad), HasSubstr("offer.devices[0]: got 'cqu'"));
  bad = good;
  bad.erase("communicators");
  EXPECT_THAT(refusal(bad), HasSubstr("offer.communicators: got 'missing'"));
  bad = good;
  bad["gpu"].erase("gpus");
  EXPECT_THAT(refusal(bad), HasSubstr("offer.gpu.gpus"));
  bad = good;
  bad["gpu"]["gpus"][0]["memory_bytes"] = "much";
  EXPECT_THAT(refusal(bad), HasSubstr("offer.gpu.gpus[0].memory_bytes: got '\"much\"'"));
}

TEST(Offer, WhatDoesNotFitIsABadInput) {
  Any any(5);
  for (int i = 0; i < 10; ++i) {
    for (const json& document : results::mutations(to_json(any_offer(any)))) {
      const std::string error = refusal(document);
      if (error.empty()) continue;
      EXPECT_THAT(error, testing::StartsWith("offer")) << document;
    }
  }
}

/// Probes are kept on the user's disk: what earlier programs wrote is read.
TEST(Offer, AnEarlierProbeIsRead) {
  const json document = json::parse(R"({"communicators": ["threads", "mpi"], "devices": ["cpu", "emulated"],
    "libtorch": "2.11.0", "mpi": "Open MPI v4.1.4", "obstacles": {"cuda": "no driver", "nccl": "no driver"}})");
  const Offer offer = offer_from_json(JsonReader(document, "probe"));
  EXPECT_TRUE(offers(offer, CommKind::mpi));
  EXPECT_EQ(offer.obstacles.at("nccl"), "no driver");
  EXPECT_FALSE(offer.gpu);
  EXPECT_EQ(to_json(offer), document);
}

}  // namespace
}  // namespace parabench::protocol
