// The option --hosts of the commands that only predict.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string copies = "mlp[layers=4]/cifar10-synthetic/data-parallel/np:4/batch:16";
const std::string on_gpus = "vgg16/imagenet-synthetic/data-parallel/np:8/batch:8/device:cuda";

class HostsTest : public FrontTest {
 protected:
  std::string refusal(std::vector<std::string> words, const std::string& hosts = "2") {
    words.insert(words.end(), {"--hosts", hosts});
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  }
  std::vector<std::string> advise(const std::string& keys) {
    return {"advise",  "--model", "mlp[layers=4]", "--dataset", "cifar10-synthetic", "--np", "4",
            "--batch", "16",      "--keys",        keys};
  }
  double step_s(const std::string& id, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"predict", id, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)[0]["predicted"]["step_time_s"];
  }
};

TEST_F(HostsTest, AreRefusedWhereTheyMeanNothing) {
  for (const std::string command : {"predict", "plan"}) {
    EXPECT_THAT(refusal({command, copies + "/device:emulated"}),
                AllOf(HasSubstr("--hosts: got '2', expected 1 with device:emulated"), HasSubstr("try --emulate")));
    EXPECT_THAT(refusal({command, copies + "/comm:threads"}), HasSubstr("expected 1 with comm:threads"));
    EXPECT_THAT(refusal({command, copies + "/reduce:window"}),
                AllOf(HasSubstr("expected 1 with reduce:window"), HasSubstr("try reduce:auto")));
    EXPECT_THAT(refusal({command, copies}, "0"), HasSubstr("--hosts: got '0'"));
    EXPECT_THAT(refusal({command, copies}, "5"), HasSubstr("--hosts: got '5', expected at most 4 for np:4"));
  }
  EXPECT_THAT(refusal({"predict", "transformer[layers=2,hidden=64,heads=4]/tokens-synthetic/1f1b/np:4/batch:16/tp:2"}),
              HasSubstr("expected 1 with tp:2"));
  EXPECT_THAT(refusal(advise("device:emulated")), HasSubstr("expected 1 with device:emulated"));
  EXPECT_THAT(refusal(advise("reduce:window")), HasSubstr("expected 1 with reduce:window"));
  std::vector<std::string> run_too = advise("threads:1");
  run_too.insert(run_too.end(), {"--run", "1"});
  EXPECT_THAT(refusal(run_too), HasSubstr("no --hosts beside it"));
}

TEST_F(HostsTest, AreThoseOfPlansAndAdvice) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plan", copies, "--cost", "calibrated"}, {"predict", copies}, advise("threads:1")}) {
    std::vector<std::string> placed = words;
    placed.insert(placed.end(), {"--hosts", "2"});
    const Outcome outcome = run(placed);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    // A host has half of the ranks, which no longer share cores with the others.
    EXPECT_NE(outcome.out, run(words).out) << words.front();
    if (words.front() == "plan") continue;
    const std::string headline = outcome.out.substr(0, outcome.out.find('\n'));
    EXPECT_THAT(headline, HasSubstr(" on 2 hosts"));
    EXPECT_THAT(outcome.err, HasSubstr("no network is known"));
    placed.insert(placed.end(), {"--format", "json"});
    const auto document = nlohmann::json::parse(run(placed).out);
    EXPECT_EQ((document.is_array() ? document[0] : document)["hosts"], 2);
  }
}

TEST_F(HostsTest, OfASheetHaveItsGpusAndItsNetwork) {
  const auto on = [&](const std::string& hosts) {
    return step_s(on_gpus, {"--hardware", "v100-sxm-32gb", "--hosts", hosts});
  };
  EXPECT_EQ(on("1"), step_s(on_gpus, {"--hardware", "v100-sxm-32gb"})) << "eight ranks fill one";
  EXPECT_GT(on("2"), on("1")) << "four NICs of 100 Gbit/s are slower than NVLink";
  const std::string sixteen = "vgg16/imagenet-synthetic/data-parallel/np:16/batch:16/device:cuda";
  EXPECT_THAT(refusal({"predict", sixteen, "--hardware", "v100-sxm-32gb"}, "1"),
              AllOf(HasSubstr("--hosts: got '1', expected at least 2 for np:16"), HasSubstr("try --hosts 2")));
  json sheet = json::parse(run({"list", "--hardware", "--json"}).out)[0];
  sheet.erase("network");
  std::ofstream(path("alone.json")) << sheet;
  EXPECT_THAT(refusal({"predict", on_gpus, "--hardware", "alone.json"}), HasSubstr("no network to further hosts"));
  EXPECT_THAT(refusal({"predict", copies, "--hardware", "alone.json"}), HasSubstr("no network to further hosts"));
}

TEST_F(HostsTest, OfMoreProcessorsThanOneHoldsAreToldToWantTheNetwork) {
  json sheet = json::parse(run({"list", "--hardware", "--json"}).out)[0];
  sheet.erase("gpus");
  sheet["host"]["cores"] = 2;
  sheet["network"] = {{"nics", 1}, {"bytes_per_s", 1e8}, {"latency_s", 1e-5}};
  std::ofstream(path("joined.json")) << sheet;
  sheet.erase("network");
  std::ofstream(path("alone.json")) << sheet;
  const std::string many = "mlp[layers=4]/cifar10-synthetic/data-parallel/np:24/batch:48";
  const auto on = [&](const std::string& hardware, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"predict", many, "--hardware", hardware};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  EXPECT_THAT(on("alone.json").out, HasSubstr("12 hosts of 2 cores, 2 ranks on each"));
  EXPECT_THAT(on("alone.json").err, HasSubstr("no network is known"));
  EXPECT_THAT(on("joined.json").err, HasSubstr("--hosts 12 takes the network of hardware h100-sxm"));
  const Outcome placed = on("joined.json", {"--hosts", "12"});
  EXPECT_THAT(placed.out, HasSubstr("24 ranks on 12 hosts"));
  EXPECT_THAT(placed.err, Not(HasSubstr("within one")));
  const Outcome here = on("alone.json", {"--hosts", "1"});
  EXPECT_THAT(here.out, Not(HasSubstr(" hosts")));
  EXPECT_THAT(here.err, Not(HasSubstr("within one")));
  EXPECT_GT(step_s(many, {"--hardware", "alone.json", "--hosts", "1"}), step_s(many, {"--hardware", "alone.json"}))
      << "they share two cores";
}

TEST_F(HostsTest, OfProcessorsShareUplinksThatTermsName) {
  json sheet = json::parse(run({"list", "--hardware", "--json"}).out)[0];
  sheet.erase("gpus");
  sheet["schema_version"] = "1.1";
  sheet["network"] = {{"nics", 1}, {"bytes_per_s", 1e9}, {"latency_s", 1e-5}};
  std::ofstream(path("flat.json")) << sheet;
  sheet["network"]["racks"] = {{"hosts", 2}, {"uplink_bytes_per_s", 2e9}};
  std::ofstream(path("wide.json")) << sheet;
  const std::string ring = copies + "/reduce:ring/optimizer:sgd";
  const auto on = [&](const std::string& hardware, const std::string& changes = "uplink=x1") {
    return step_s(ring, {"--hardware", hardware, "--hosts", "4", "--what-if", changes});
  };
  EXPECT_EQ(on("wide.json"), step_s(ring, {"--hardware", "flat.json", "--hosts", "4"}));
  const Outcome terms = run({"predict", ring, "--hardware", "wide.json", "--hosts", "4", "--what-if", "uplink=x0.25"});
  EXPECT_THAT(terms.out, HasSubstr("2 racks with an uplink of 16Gbit for each rack of 2 hosts"));
  EXPECT_THAT(terms.out, HasSubstr("what-if"));
  EXPECT_THAT(run({"predict", ring, "--hardware", "flat.json", "--hosts", "4", "--what-if", "uplink=x2"}).err,
              AllOf(HasSubstr("--what-if uplink: got 'x2'"), HasSubstr("racks in the network of hardware")));
}

}  // namespace
}  // namespace parabench::suite
