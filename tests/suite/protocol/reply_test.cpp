#include "suite/protocol/reply.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "suite/launch/launch.h"

namespace parabench {
namespace {

class ReplyTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { write_atomically(scratch_.path() / name, text); }
  std::string refusal(Phase phase) {
    try {
      read_reply(scratch_.path(), phase);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  ScratchFolder scratch_;
};

TEST_F(ReplyTest, CauseIsTheLowestRankThatDidNotStopBecauseOfAnother) {
  write("error-0.json", R"({"rank": 0, "kind": "peer", "message": "rank 2 left"})");
  write("error-2.json", R"({"rank": 2, "kind": "not_a_number", "message": "loss"})");
  write("error-3.json", R"({"rank": 3, "kind": "failure", "message": "x"})");
  write("error-1.json", R"({"rank": 1, "kind": "fai)");
  const auto cause = read_cause(scratch_.path());
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->rank, 2);
  EXPECT_EQ(cause->kind, FailureKind::not_a_number);
  EXPECT_EQ(cause->message, "loss");
}

TEST_F(ReplyTest, NoErrorFilesNoCause) { EXPECT_FALSE(read_cause(scratch_.path())); }

TEST_F(ReplyTest, CountsStartedRanks) {
  write("pid-0.json", "{}");
  write("pid-1.json", "{}");
  EXPECT_EQ(started_ranks(scratch_.path()), 2);
}

TEST_F(ReplyTest, ReadsCapabilities) {
  write("reply.json",
        R"({"phase": "probe", "devices": ["cpu"], "communicators": ["mpi"], "libtorch": "2.11", "mpi": "4.1"})");
  const Reply reply = read_reply(scratch_.path(), Phase::probe);
  EXPECT_THAT(reply.capabilities->devices, testing::ElementsAre("cpu"));
  EXPECT_EQ(reply.capabilities->libtorch, "2.11");
}

TEST_F(ReplyTest, ReadsWhatTheProbeSaysAboutGpus) {
  write("reply.json", R"({"phase": "probe", "devices": ["cpu"], "communicators": ["mpi"],
    "obstacles": {"cuda": "no driver"},
    "gpu": {"driver": "13.0", "runtime": "13.0", "cudnn": "9.19.0", "nccl": "2.28.9", "nccl_init": "ok", "obstacle": "",
            "gpus": [{"name": "H200", "uuid": "GPU-1", "capability": 90, "memory_bytes": 150000000000}]}})");
  const auto capabilities = *read_reply(scratch_.path(), Phase::probe).capabilities;
  EXPECT_EQ(capabilities.obstacles.at("cuda"), "no driver");
  ASSERT_TRUE(capabilities.gpu);
  EXPECT_EQ(capabilities.gpu->cudnn, "9.19.0");
  ASSERT_EQ(capabilities.gpu->gpus.size(), 1u);
  EXPECT_EQ(capabilities.gpu->gpus[0], (HostGpu{"H200", "GPU-1", 90, 150'000'000'000}));
  const auto again = capabilities_from_json(to_json(capabilities));
  EXPECT_EQ(to_json(again), to_json(capabilities));
}

TEST_F(ReplyTest, ABuildWithoutCudaHasNoGpuMember) {
  const std::string head = R"({"phase": "probe", "devices": ["cpu"], "communicators": ["mpi"])";
  write("reply.json", head + "}");
  EXPECT_FALSE(read_reply(scratch_.path(), Phase::probe).capabilities->gpu);
  write("reply.json", head + R"(, "gpu": {"runtime": "", "gpus": [], "obstacle": "this build has no CUDA"}})");
  EXPECT_FALSE(read_reply(scratch_.path(), Phase::probe).capabilities->gpu);
  write("reply.json", head + R"(, "gpu": {"runtime": "13.0"}})");
  EXPECT_THAT(refusal(Phase::probe), testing::HasSubstr("gpus"));
}

TEST_F(ReplyTest, SaysWhatIsWrong) {
  EXPECT_THAT(refusal(Phase::probe), testing::HasSubstr("reply.json"));
  write("reply.json", R"({"phase": "probe", "devi)");
  EXPECT_THAT(refusal(Phase::probe), testing::HasSubstr("ends too early"));
  write("reply.json", R"({"phase": "probe"})");
  EXPECT_THAT(refusal(Phase::probe), testing::HasSubstr("devices"));
  EXPECT_THAT(refusal(Phase::measure), testing::HasSubstr("phase measure"));
  write("reply.json", R"({"phase": "measure", "measured": {"losses": [2.3, null]}})");
  EXPECT_THAT(refusal(Phase::measure), testing::HasSubstr("finite number at step 1"));
}

}  // namespace
}  // namespace parabench
