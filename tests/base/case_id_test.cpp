#include "base/case_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/case_json.h"
#include "base/case_key.h"
#include "base/case_text.h"
#include "base/error.h"
#include "tests/base/random_case.h"

namespace parabench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string complaint(const std::string& id) {
  try {
    parse_case(id);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no complaint";
}

TEST(CaseId, ReadsTheShortestForm) {
  Case expected;
  expected.model.name = "resnet18";
  expected.dataset = {"imagenet-synthetic", {{"pixels", "32"}, {"classes", "10"}}};
  expected.strategy.name = "data-parallel";
  expected.np = 2;
  expected.batch = 32;
  EXPECT_EQ(parse_case("resnet18/imagenet-synthetic[pixels=32,classes=10]/data-parallel/np:2/batch:32"), expected);
}

TEST(CaseId, LeavesSpelledOutDefaultsOutOfTheCanonicalForm) {
  EXPECT_EQ(to_id(parse_case("m/d/gpipe/seed:1/micro:4/batch:32/comm:mpi/device:cpu/bucket:25MiB/lr:1e-2/np:2")),
            "m/d/gpipe/np:2/batch:32");
}

TEST(CaseId, PrintsKeysInTheOrderOfTheContract) {
  const std::string id =
      "m/d/s/np:8/batch:64/micro:8/dp:2/chunks:4/warmup:0/bucket:1500MB/recompute:except-last/partition:uniform/"
      "memory:1500MiB/precision:bf16/layout:channels_last/device:cuda/comm:mpi/threads:2/graph:on/loader:3/"
      "input:resident/optimizer:adam[beta2=0.95]/zero:1/shard:2/prefetch:3/reshard:off/reduce:double-tree/"
      "compress:powersgd[rank=2]/order:priority[partition=1MiB]/sync_bn:on/executor:futurized/tp:8/lr:0.1/"
      "momentum:0/weight_decay:0.0001/"
      "seed:18446744073709551615";
  EXPECT_EQ(to_id(parse_case(id)), id);
}

TEST(CaseId, TheCommunicatorFollowsTheDevice) {
  EXPECT_EQ(parse_case("m/d/s/np:1/batch:1").comm, CommKind::mpi);
  EXPECT_EQ(parse_case("m/d/s/device:cuda/np:1/batch:1").comm, CommKind::nccl);
  EXPECT_EQ(parse_case("m/d/s/np:1/batch:1/device:emulated").comm, CommKind::threads);
  EXPECT_EQ(to_id(parse_case("m/d/s/np:1/batch:1/comm:nccl/device:cuda")), "m/d/s/np:1/batch:1/device:cuda");
  EXPECT_EQ(to_id(parse_case("m/d/s/np:1/batch:1/comm:mpi/device:cuda")), "m/d/s/np:1/batch:1/device:cuda/comm:mpi");
}

TEST(CaseId, AnyCaseSurvivesPrintingAndParsing) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const Case spec = random_case(random);
    EXPECT_EQ(parse_case(to_id(spec)), spec) << to_id(spec);
  }
}

TEST(CaseId, AnyOrderWithDefaultsSpelledOutIsTheSameId) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    const Case spec = random_case(random);
    std::vector<std::string> keys;
    for (const CaseKey& key : case_keys()) {
      const std::string value = value_text(spec, key);
      if (!value.empty()) keys.push_back(std::string(key.name) + ":" + value);
    }
    std::shuffle(keys.begin(), keys.end(), random);
    std::string id = to_text(spec.model) + "/" + to_text(spec.dataset) + "/" + to_text(spec.strategy);
    for (const std::string& key : keys) id += "/" + key;
    EXPECT_EQ(to_id(parse_case(id)), to_id(spec)) << id;
  }
}

TEST(CaseId, RefusesWithValueExpectationAndHint) {
  EXPECT_EQ(complaint("m/d/s/np:2/batch:8/micro:0"),
            "micro: got '0', expected an integer from 1 to 2147483647; try micro:4");
  EXPECT_EQ(complaint("m/d/s/np:99999999999/batch:8"),
            "np: got '99999999999', expected an integer from 1 to 2147483647; try np:1");
  EXPECT_EQ(complaint("m/d/s/np:2/batch:8/mirco:2"),
            "case id: got 'mirco', expected a key of a case; did you mean 'micro'?");
  EXPECT_EQ(complaint("m/d/s/np:2/batch:8/precision:fp23"),
            "precision: got 'fp23', expected one of fp32, tf32, bf16, fp64; did you mean 'fp32'?");
  EXPECT_EQ(complaint("m/d/s/np:2/batch:8/np:2"), "case id: got 'np:2', expected each key once; leave one of them out");
  EXPECT_THAT(complaint("m/d/s/batch:8"), AllOf(HasSubstr("m/d/s/batch:8"), HasSubstr("add np:")));
  EXPECT_THAT(complaint("m/d/s/np:8"), HasSubstr("add batch:"));
  EXPECT_THAT(complaint("resnet18/gpipe"), AllOf(HasSubstr("'resnet18/gpipe'"), HasSubstr("model/dataset/strategy")));
}

TEST(CaseId, StraySlashesAreNamedWithTheIdWithoutThem) {
  for (const std::string id : {"m/d//s/np:2/batch:8", "/m/d/s/np:2/batch:8", "m/d/s/np:2/batch:8/"}) {
    EXPECT_EQ(complaint(id), "case id: got '" + id +
                                 "', expected no '/' at either end, and one between parts; try m/d/s/np:2/batch:8");
  }
  EXPECT_THAT(complaint("//"), HasSubstr("model/dataset/strategy"));
}

TEST(CaseId, AKeyWithoutColonGetsOne) {
  EXPECT_EQ(complaint("m/d/s/np=2/batch:8"), "case id: got 'np=2', expected key:value; try np:2");
  EXPECT_EQ(complaint("m/d/s/np/batch:8"), "case id: got 'np', expected key:value; write np:<integer>");
  EXPECT_THAT(complaint("m/d/s/n=2/batch:8"), HasSubstr("expected key:value; try resnet18/"));
}

TEST(CaseId, RefusesEveryMalformedPart) {
  for (const char* tail : {"np:",
                           "np:two",
                           "np:2x",
                           "np: 2",
                           "np:+2",
                           "np:-1",
                           "np:0",
                           "np:99999999999",
                           "np",
                           ":2",
                           "",
                           "bucket:25Mib?",
                           "bucket:-1",
                           "bucket:0",
                           "bucket:1e30",
                           "momentum:1",
                           "momentum:nan",
                           "lr:0",
                           "lr:inf",
                           "lr:-0.1",
                           "lr:1e",
                           "weight_decay:-1",
                           "graph:yes",
                           "input:device",
                           "optimizer:rmsprop",
                           "optimizer:adam[",
                           "compress:zip",
                           "compress:bf16[rank=1]",
                           "compress:powersgd[rank=0]",
                           "compress:powersgd[rank=1.5]",
                           "compress:powersgd[ratio=0.5]",
                           "compress:topk[ratio=0]",
                           "compress:topk[ratio=1.01]",
                           "compress:topk[ratio=nan]",
                           "compress:topk[ratio=]",
                           "zero:4",
                           "prefetch:-1",
                           "reshard:maybe",
                           "executor:dataflow",
                           "zero:-1",
                           "shard:0",
                           "shard:some",
                           "order:forward",
                           "order:priority[",
                           "order:priority[partition=0]",
                           "order:priority[partition=big]",
                           "order:priority[credit=1]",
                           "order:backward[partition=1MiB]",
                           "zero:on",
                           "comm:gloo",
                           "warmup:-1",
                           "warmup:auto",
                           "seed:-1",
                           "seed:18446744073709551616",
                           "iterations:5"}) {
    EXPECT_NE(complaint("m/d/s/batch:1/" + std::string(tail)), "no complaint") << tail;
  }
  for (const char* name : {"", "m[", "m[]", "m[a]", "m[a=]", "m[=1]", "m[a=1", "m[a=1]]", "m[a=1,]", "m[a=1,a=2]",
                           "m n", "m[a=1]b", "[a=1]", "m.*", "m[a=1][b=2]"}) {
    EXPECT_NE(complaint(std::string(name) + "/d/s/np:1/batch:1"), "no complaint") << name;
    EXPECT_NE(complaint("m/" + std::string(name) + "/s/np:1/batch:1"), "no complaint") << name;
  }
}

TEST(Filter, IsSearchedAsARegularExpression) {
  const std::string id = "resnet18/cifar10-synthetic/gpipe/np:2/batch:32/micro:8";
  for (const char* filter : {"gpipe", "^resnet18/", "micro:8$", "np:[24]/", "", "(gpipe|dapple)/np:2"}) {
    EXPECT_TRUE(filter_matches(filter, id)) << filter;
  }
  EXPECT_FALSE(filter_matches("pipedream", id));
  EXPECT_FALSE(filter_matches("np:2$", id));
}

TEST(Filter, ThatIsAnIdMeansThatIdAlone) {
  const std::string id = "resnet18/imagenet-synthetic[pixels=32,classes=10]/gpipe/np:2/batch:32";
  EXPECT_TRUE(filter_matches(id, id));
  EXPECT_TRUE(filter_matches("resnet18/imagenet-synthetic[pixels=32,classes=10]/gpipe/batch:32/micro:4/np:2", id));
  EXPECT_FALSE(filter_matches(id, id + "/micro:8"));
  EXPECT_FALSE(filter_matches(id, "resnet18/imagenet-synthetic[pixels=32,classes=10]/gpipe/np:2/batch:320"));
}

TEST(Filter, EndsForEveryExpression) {
  const std::string id = "transformer[layers=4,hidden=64]/tokens-synthetic[sequence=32]/gpipe/np:2/batch:8/micro:4";
  // Twenty characters that a search by trial never comes to the end of.
  EXPECT_FALSE(filter_matches("([a-z0-9/:-]+)+!", id + std::string(100, 'a')));
  EXPECT_TRUE(filter_matches("a*$", std::string(200'000, 'a')));
  EXPECT_THROW(filter_matches(std::string(100'000, '('), id), Error);
}
TEST(Filter, RefusesAMalformedExpression) { EXPECT_THROW(filter_matches("gpipe(", "m/d/s/np:1/batch:1"), Error); }

Case read(const nlohmann::json& json) { return case_from_json(JsonReader(json, "case")); }

TEST(CaseJson, HoldsNumbersNearZero) {
  const Case spec = parse_case("mlp/cifar10-synthetic/sequential/np:1/batch:8/lr:1e-310");
  EXPECT_EQ(read(parameters_json(spec)), spec);
}

TEST(CaseJson, AnyCaseSurvivesTheRoundTrip) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    const Case spec = random_case(random);
    const nlohmann::json json = nlohmann::json::parse(parameters_json(spec).dump());
    EXPECT_EQ(read(json), spec) << json;
  }
}

TEST(CaseJson, IsTypedAndComplete) {
  const nlohmann::json json = parameters_json(
      parse_case("transformer[layers=12,gelu=true]/imagenet-synthetic[pixels=32,classes=10]/1f1b/np:4/batch:32/lr:1"));
  EXPECT_EQ(json, nlohmann::json::parse(R"({
    "model": {"name": "transformer", "parameters": {"layers": 12, "gelu": true},
              "text": "transformer[layers=12,gelu=true]"},
    "dataset": {"name": "imagenet-synthetic", "parameters": {"pixels": 32, "classes": 10},
                "text": "imagenet-synthetic[pixels=32,classes=10]"},
    "strategy": {"name": "1f1b", "parameters": {}, "text": "1f1b"},
    "np": 4, "batch": 32, "micro": 4, "dp": 1, "chunks": 2, "warmup": null, "bucket": 26214400, "reduce": "auto",
    "compress": {"name": "none", "parameters": {}, "text": "none"}, "recompute": "none", "partition": "time", "memory": null, "precision": "fp32", "layout": "contiguous", "device": "cpu", "comm": "mpi",
    "threads": 1, "graph": false, "loader": 1, "input": "host",
    "optimizer": {"name": "sgd", "parameters": {}, "text": "sgd"}, "zero": 0, "shard": null, "prefetch": 1, "reshard": true,
    "order": {"name": "backward", "parameters": {}, "text": "backward"}, "sync_bn": false, "executor": "ordered", "tp": 1, "lr": 1.0, "momentum": 0.9, "weight_decay": 0.0,
    "seed": 1})"));
}

TEST(CaseJson, NamesThePlaceTheValueAndWhatWasExpected) {
  const nlohmann::json good = parameters_json(parse_case("m[a=1]/d/s/np:1/batch:1"));
  const auto message = [&](const char* patch) -> std::string {
    nlohmann::json bad = good;
    bad.merge_patch(nlohmann::json::parse(patch));
    try {
      read(bad);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message(R"({"np": "1"})"), "case.np: got '\"1\"', expected a value of this key's type");
  EXPECT_THAT(message(R"({"model": {"text": 7}})"), HasSubstr("case.model.text: got '7', expected a text"));
  EXPECT_THAT(message(R"({"batch": null})"), HasSubstr("case.batch"));
}

TEST(CaseJson, RefusesMissingForeignMistypedAndDisagreeingValues) {
  const nlohmann::json good = parameters_json(parse_case("m[a=1]/d/s/np:1/batch:1"));
  for (const auto& [key, ignored] : good.items()) {
    nlohmann::json bad = good;
    bad.erase(key);
    const auto declared = std::ranges::find(case_keys(), key, &CaseKey::name);
    if (declared != case_keys().end() && declared->since != KeyDeclaration{}.since) {  // older files have none
      EXPECT_EQ(read(bad), read(good));
    } else {
      EXPECT_THROW(read(bad), Error) << key << " missing";
    }
    bad = good;
    bad[key] = nlohmann::json::array();
    EXPECT_THROW(read(bad), Error) << key << " mistyped";
  }
  for (const char* patch :
       {R"({"np": "1"})", R"({"np": 1.5})", R"({"np": 0})", R"({"np": null})", R"({"graph": "off"})",
        R"({"bucket": "25MiB"})", R"({"warmup": ""})", R"({"micor": 4})", R"({"model": {"name": "other"}})",
        R"({"model": {"parameters": {"a": 2}}})", R"({"lr": "0.01"})", R"({"precision": 32})"}) {
    nlohmann::json bad = good;
    bad.merge_patch(nlohmann::json::parse(patch));
    EXPECT_THROW(read(bad), Error) << patch;
  }
  EXPECT_THROW(read(nlohmann::json("m/d/s")), Error);
}

}  // namespace
}  // namespace parabench
