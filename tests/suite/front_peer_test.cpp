// Other products beside ours: their records, and what is wrong with them or with their environment.
#include <chrono>

#include "tests/base/sanitized.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string ddp = small + "peer[product=torch-ddp]/np:2/batch:8";

class PeerTest : public FrontTest {
 protected:
  PeerTest() {
    std::filesystem::create_directories(path("peers/bin"));
    std::filesystem::create_symlink(FAKE_PEER_PYTHON, path("peers/bin/python"));
    set("PARABENCH_PEERS", path("peers"));
  }
  /// The record of ddp, which stands beside a sound case of ours.
  nlohmann::json run_ddp(const std::string& behaviour, const std::vector<std::string>& more = {}) {
    set("FAKE_PEER", behaviour);
    std::vector<std::string> words = {"run",           ddp, sequential, "--json", "results.json",
                                      "--repetitions", "2", "--steps",  "3"};
    words.insert(words.end(), more.begin(), more.end());
    outcome_ = run(words);
    EXPECT_EQ(left_running(), 0);
    EXPECT_EQ(run({"validate", "results.json"}).code, 0);
    const auto document = results();
    EXPECT_EQ(document["records"].size(), 2u) << outcome_.err;
    EXPECT_EQ(document["records"][1]["status"], "ok");
    return document["records"][0];
  }
  std::string reason(const nlohmann::json& record) { return record["reason"].get<std::string>(); }

  Outcome outcome_;
};

TEST_F(PeerTest, IsMeasuredBesideOursWithoutAPrediction) {
  const auto record = run_ddp("sound");
  EXPECT_EQ(outcome_.code, 0) << outcome_.err;
  EXPECT_EQ(record["status"], "ok");
  EXPECT_EQ(record["equivalence"]["status"], "pass");
  EXPECT_EQ(record["equivalence"]["reference"], "peer");
  EXPECT_EQ(record["equivalence"]["steps"], 3);
  EXPECT_EQ(record["measured"]["step_time_s"]["samples"].size(), 2u);
  EXPECT_EQ(record["measured"]["step_time_s"]["median"], 0.5);
  EXPECT_EQ(record["measured"]["step_time_s"]["p10"], 0.25);  // of 0.25, 0.25, 0.5, 0.5, 0.75, 0.75
  EXPECT_EQ(record["measured"]["step_time_s"]["p90"], 0.75);
  EXPECT_TRUE(record["measured"]["step_time_s"]["ci95"][0].is_number());
  EXPECT_TRUE(record["predicted"].is_null());
  EXPECT_THAT(outcome_.err, AllOf(HasSubstr("[1/2] " + ddp + " hand over eta unknown\n"),
                                  HasSubstr("[1/2] " + ddp + " measure 1/2 eta unknown\n")));
  EXPECT_TRUE(record["error"].is_null());
  EXPECT_THAT(outcome_.out, HasSubstr("1.00 MiB resident"));
  // It is handed over once; nothing of it is calibrated.
  EXPECT_EQ(count_launches("hand-over"), 1);
  EXPECT_EQ(count_launches("calibrate"), 1);
  EXPECT_EQ(run({"report", "results.json", "--out", "report", "--figures", "off"}).code, 0);
  EXPECT_EQ(run({"compare", "results.json", "results.json"}).code, 0);
}

TEST_F(PeerTest, OtherLossesFailItAndItsTimeDoesNotCount) {
  const auto record = run_ddp("loss");
  EXPECT_EQ(outcome_.code, 1);
  EXPECT_EQ(record["status"], "failed");
  EXPECT_EQ(record["equivalence"]["status"], "fail");
  EXPECT_THAT(record["equivalence"]["reason"].get<std::string>(), HasSubstr("loss of step 0 is 3.5"));
  EXPECT_THAT(reason(record), HasSubstr("first losses are not those of our training"));
}

TEST_F(PeerTest, VerifyingOnlyComparesItsLosses) {
  const auto record = run_ddp("sound", {"--verify", "only"});
  EXPECT_EQ(outcome_.code, 0) << outcome_.err;
  EXPECT_EQ(record["equivalence"]["status"], "pass");
  EXPECT_TRUE(record["measured"].is_null());
}

TEST_F(PeerTest, WithoutVerifyingNothingIsSaidOfItsLosses) {
  const auto record = run_ddp("loss", {"--verify", "off"});
  EXPECT_EQ(outcome_.code, 0) << outcome_.err;
  EXPECT_EQ(record["equivalence"]["status"], "not_checked");
  EXPECT_FALSE(record["measured"].is_null());
}

TEST_F(PeerTest, ALaunchThatFailsSaysWhy) {
  EXPECT_THAT(reason(run_ddp("error")), HasSubstr("rank 1: told to fail"));
  EXPECT_THAT(reason(run_ddp("crash")), HasSubstr("signal 11"));
}

TEST_F(PeerTest, OneThatHangsIsEndedWithAllItStarted) {
  const auto record = run_ddp("hang", {"--timeout", under_sanitizer ? "20s" : "2s"});
  EXPECT_EQ(record["status"], "failed");
  EXPECT_THAT(reason(record), HasSubstr("timed out"));
}

TEST_F(PeerTest, ABrokenEnvironmentSkipsItWithTheReasonAndWhatToType) {
  const auto skipped = [&](const std::string& behaviour) {
    const auto record = run_ddp(behaviour);
    EXPECT_EQ(record["status"], "skipped");
    EXPECT_EQ(outcome_.code, 4);  // it was named
    EXPECT_THAT(reason(record), HasSubstr("./parabench peers"));
    return reason(record);
  };
  EXPECT_THAT(skipped("garbage"), HasSubstr("peers.json"));
  EXPECT_THAT(skipped("dumb"), HasSubstr("no such library"));
  EXPECT_THAT(skipped("silent"), HasSubstr("peers/bin/python ended with code 3; ./parabench peers"));
  EXPECT_THAT(skipped("killed"), HasSubstr("peers/bin/python ended by signal 9; ./parabench peers"));
  EXPECT_THAT(skipped("versions"), HasSubstr("torch 2.0.0 is installed, expected 2.11.0"));
  std::filesystem::remove(path("peers/bin/python"));
  std::filesystem::create_symlink("removed", path("peers/bin/python"));
  EXPECT_THAT(skipped("sound"), HasSubstr("peers/bin/python is no program that can be started"));
  set("PARABENCH_PEERS", path("nowhere"));
  EXPECT_THAT(skipped("sound"), AllOf(HasSubstr("no Python environment"), HasSubstr("nowhere")));
}

TEST_F(PeerTest, HorovodIsSkippedWithItsReasonBesideWhatRuns) {
  const std::string horovod = small + "peer[product=horovod]/np:2/batch:8";
  set("FAKE_PEER", "sound");
  const Outcome outcome = run({"run", horovod, ddp, sequential, "--steps", "3", "--json", "results.json"});
  EXPECT_EQ(outcome.code, 4) << outcome.err;  // it was named
  const auto document = results();
  ASSERT_EQ(document["records"].size(), 3u) << outcome.err;
  EXPECT_EQ(document["records"][0]["status"], "skipped");
  EXPECT_THAT(reason(document["records"][0]), AllOf(HasSubstr("it cannot be had"), HasSubstr(path("peers").string())));
  EXPECT_THAT(outcome.out, HasSubstr("it cannot be had"));
  EXPECT_EQ(document["records"][1]["status"], "ok");
  EXPECT_EQ(document["records"][2]["status"], "ok");
  EXPECT_EQ(run({"run", ddp, sequential, "--steps", "3"}).code, 0);  // whose environment has everything that they want
}

TEST_F(PeerTest, WhatIsNeitherPlannedNorPredictedNamesOurCounterpart) {
  for (const char* command : {"plan", "predict"}) {
    const Outcome outcome = run({command, ddp});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("try " + small + "data-parallel/np:2/batch:8"));
  }
  EXPECT_THAT(run({"run", ddp, "--dry-run"}).out, HasSubstr("another product"));
}

TEST_F(PeerTest, CasesOfOursNeedNoPython) {
  set("PARABENCH_PEERS", path("nowhere"));
  EXPECT_EQ(run({"run", sequential, "--repetitions", "1"}).code, 0);
}

}  // namespace
}  // namespace parabench::suite
