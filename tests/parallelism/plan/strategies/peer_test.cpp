#include "parallelism/plan/strategies/peer.h"

#include <gmock/gmock.h>

#include "base/case_id.h"
#include "base/error.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

models::ModelSpec mlp() { return models::make_model({"mlp", {{"layers", "8"}}}, {3, 32, 32}, 10, true); }

Case peer(const std::string& product, const std::string& rest = "np:2/batch:32") {
  return parse_case("mlp[layers=8]/cifar10-synthetic/peer[product=" + product + "]/" + rest);
}

/// Why the case is refused; "" where it is not.
std::string refusal(const Case& spec, const models::ModelSpec& model = mlp()) {
  try {
    check_case(spec, model);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(Peer, EveryProductIsServedHasACounterpartAndIsNamedByTheHelp) {
  for (const PeerProduct& product : peer_products()) {
    const std::string name(product.name);
    const Case spec = peer(name);
    EXPECT_EQ(refusal(spec), "") << name;
    EXPECT_EQ(&peer_product(spec), &product);
    EXPECT_EQ(counterpart(spec).strategy.name, find_strategy(product.counterpart).name);
    EXPECT_THAT(std::string(peer_products_expected), HasSubstr(name));
    EXPECT_EQ(parse_case(to_id(spec)), spec);
  }
}

TEST(Peer, TheCounterpartIsTheSameWork) {
  Case ours = counterpart(peer("torch-1f1b", "np:2/batch:32/micro:8/threads:2"));
  EXPECT_EQ(to_id(ours), "mlp[layers=8]/cifar10-synthetic/1f1b/np:2/batch:32/micro:8/threads:2");
}

TEST(Peer, AnUnknownProductAndNoneAreRefusedWithWhatThereIs) {
  EXPECT_THAT(refusal(peer("torch-dpp")), AllOf(HasSubstr("torch-dpp"), HasSubstr("did you mean 'torch-ddp'")));
  EXPECT_THAT(refusal(parse_case("mlp[layers=8]/cifar10-synthetic/peer/np:2/batch:32")),
              HasSubstr("try peer[product=torch-ddp]"));
}

TEST(Peer, WhatTheCounterpartRefusesIsRefused) {
  EXPECT_THAT(refusal(peer("torch-gpipe", "np:9/batch:36")), HasSubstr("9 stages"));
  EXPECT_THAT(refusal(peer("torch-ddp", "np:2/batch:1")), HasSubstr("at least 2 samples"));
  EXPECT_THAT(refusal(peer("torch-ddp", "np:2/batch:32/micro:8")), HasSubstr("does not use this key"));
}

TEST(Peer, KeysThatOnlyOurOwnTrainingReadsAreRefused) {
  for (const char* key : {"recompute:all", "optimizer:adam", "device:cuda", "comm:threads", "loader:2"})
    EXPECT_THAT(refusal(peer("torch-ddp", std::string("np:2/batch:32/") + key)), HasSubstr("another product")) << key;
  for (const char* key : {"reduce:ring", "compress:powersgd", "zero:1", "prefetch:2", "dp:2"})
    EXPECT_THAT(refusal(peer("fsdp2", std::string("np:2/batch:32/") + key)), HasSubstr("peer does not use this key"))
        << key;
  EXPECT_EQ(refusal(peer("torch-ddp", "np:2/batch:32/bucket:1MiB")), "");
  EXPECT_THAT(refusal(peer("fsdp2", "np:2/batch:32/bucket:1MiB")), HasSubstr("no such buckets"));
}

TEST(Peer, PipelinesOfOthersTakeEqualMicroBatchesAndChainsAlone) {
  EXPECT_THAT(refusal(peer("torch-gpipe", "np:2/batch:30")),
              AllOf(HasSubstr("multiple of micro"), HasSubstr("batch:32")));
  EXPECT_EQ(refusal(peer("torch-ddp", "np:2/batch:31")), "");
  const models::ModelSpec unet = models::make_model({"unet", {}}, {3, 64, 64}, 2, false);
  Case spec = peer("torch-gpipe", "np:2/batch:32");
  EXPECT_THAT(refusal(spec, unet), AllOf(HasSubstr("a chain for torch-gpipe"), HasSubstr("activations")));
}

TEST(Peer, HasNoPlanOfOurs) {
  try {
    make_plan(peer("torch-1f1b"), mlp(), {}, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("neither planned nor predicted"),
                                    HasSubstr("try mlp[layers=8]/cifar10-synthetic/1f1b/np:2/batch:32")));
  }
}

}  // namespace
}  // namespace parabench::plan
