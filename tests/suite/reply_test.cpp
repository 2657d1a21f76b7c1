#include "suite/reply.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "suite/launch.h"

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
