#include "suite/protocol/folder.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"

namespace parabench::protocol {
namespace {

class ReplyFolderTest : public testing::Test {
 protected:
  ReplyFolderTest() { folder_ = mkdtemp(pattern_.data()); }
  ~ReplyFolderTest() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) { write_atomically(folder_ / name, text); }
  std::string refusal(Phase phase) {
    try {
      read_reply(folder_, phase);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::string pattern_ = std::filesystem::temp_directory_path() / "parabench-folder-XXXXXX";
  std::filesystem::path folder_;
};

TEST_F(ReplyFolderTest, CauseIsTheLowestRankThatDidNotStopBecauseOfAnother) {
  write_error(folder_, {Rank(0), FailureKind::peer, "rank 2 left"});
  write_error(folder_, {Rank(2), FailureKind::not_a_number, "loss"});
  write_error(folder_, {Rank(3), FailureKind::failure, "x"});
  write("error-1.json", R"({"rank": 1, "kind": "fai)");
  write("error-4.json", R"({"rank": 0, "kind": "unheard", "message": ""})");
  EXPECT_EQ(read_cause(folder_), (RankError{Rank(2), FailureKind::not_a_number, "loss"}));
}

TEST_F(ReplyFolderTest, WhereAllStoppedBecauseOfOthersTheLowestSaysSo) {
  write_error(folder_, {Rank(3), FailureKind::peer, "rank 1 left"});
  write_error(folder_, {Rank(2), FailureKind::peer, "rank 1 left"});
  EXPECT_EQ(read_cause(folder_)->rank, Rank(2));
}

TEST_F(ReplyFolderTest, NoErrorFilesNoCause) {
  EXPECT_FALSE(read_cause(folder_));
  EXPECT_FALSE(has_error(folder_, Rank(1)));
  write_error(folder_, {Rank(1), FailureKind::failure, ""});
  EXPECT_TRUE(has_error(folder_, Rank(1)));
  EXPECT_FALSE(has_error(folder_, Rank(0)));
}

TEST_F(ReplyFolderTest, CountsStartedRanks) {
  EXPECT_EQ(started_ranks(folder_), 0);
  write_start(folder_, Rank(0), {.host = "here"}, "0");
  write_start(folder_, Rank(11), {.host = "there"}, "0");
  write_error(folder_, {Rank(1), FailureKind::failure, ""});
  EXPECT_EQ(started_ranks(folder_), 2);
}

TEST_F(ReplyFolderTest, HostsOfStartedRanksOnceEachWithTheCoresOfTheirRanks) {
  const analytic::MachineInfo here{
      .host = "here", .cpu = "fast", .governor = "performance", .cores = 4, .memory_bytes = 1000};
  analytic::MachineInfo there = here;
  there.host = "there";
  there.cores = 2;
  write_start(folder_, Rank(10), here, "2-3");
  write_start(folder_, Rank(9), there, "0");
  write_start(folder_, Rank(2), here, "0-1");
  write("pid-3.json", R"({"rank": 3, "pid": 1, "host": "of an older program"})");
  write("pid-4.json", R"({"rank": 4, "pi)");
  EXPECT_EQ(read_hosts(folder_), (std::vector<results::Host>{{"here", "fast", 4, 1000, "performance", {"0-1", "2-3"}},
                                                             {"there", "fast", 2, 1000, "performance", {"0"}}}));
}

TEST_F(ReplyFolderTest, HostsOfRanksAreKnownOnceAllHaveStarted) {
  const analytic::MachineInfo here{.host = "here", .cores = 1}, there{.host = "there", .cores = 1};
  write_start(folder_, Rank(1), here, "0");
  EXPECT_THAT(read_host_of_rank(folder_), testing::IsEmpty());
  write_start(folder_, Rank(0), there, "0");
  write_start(folder_, Rank(2), here, "0");
  EXPECT_THAT(read_host_of_rank(folder_), testing::ElementsAre("there", "here", "here"));
}

TEST_F(ReplyFolderTest, AReplyComesBack) {
  write_reply(folder_, {"", "note", Offer{.devices = {DeviceKind::cpu}, .libtorch = "2.11"}});
  const Reply reply = read_reply(folder_, Phase::probe);
  EXPECT_EQ(reply.private_arenas_because, "note");
  EXPECT_EQ(std::get<Offer>(reply.answer).libtorch, "2.11");
}

TEST_F(ReplyFolderTest, ErrorsNameTheFile) {
  const std::string file = folder_ / "reply.json";
  EXPECT_THAT(refusal(Phase::probe), testing::HasSubstr(file));
  write("reply.json", R"({"phase": "probe", "devi)");
  EXPECT_THAT(refusal(Phase::probe), testing::AllOf(testing::HasSubstr(file), testing::HasSubstr("ends too early")));
  write("reply.json", R"({"phase": "probe"})");
  EXPECT_THAT(refusal(Phase::probe), testing::HasSubstr(file + ": reply.plan_hash: got 'missing'"));
}

}  // namespace
}  // namespace parabench::protocol
