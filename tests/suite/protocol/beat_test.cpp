#include "suite/protocol/beat.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace parabench::protocol {
namespace {

using testing::ElementsAre;

const Beat long_one{41, "node1", 77, {{Rank(2), 9, true, "step 3 1RECV_F2"}, {Rank(3), 8, false, "step 3 4B1"}}};
const Beat short_one{42, "node1", 77, {{Rank(2), 9, false, ""}}};

class BeatTest : public testing::Test {
 protected:
  BeatTest() { folder_ = mkdtemp(pattern_.data()); }
  ~BeatTest() override { std::filesystem::remove_all(folder_); }

  std::string pattern_ = testing::TempDir() + "beat-XXXXXX";
  std::filesystem::path folder_;
};

TEST_F(BeatTest, IsReadBackAsWritten) {
  write_beat(folder_, long_one);
  EXPECT_THAT(read_beats(folder_), ElementsAre(long_one));
}

TEST_F(BeatTest, AShorterOneReplacesALongerOneWhole) {
  write_beat(folder_, long_one);
  write_beat(folder_, short_one);
  EXPECT_THAT(read_beats(folder_), ElementsAre(short_one));
}

TEST_F(BeatTest, HalfWrittenAndForeignFilesAreLeftOut) {
  write_beat(folder_, short_one);
  std::ofstream(folder_ / "beat-1.json") << R"({"number": 3, "host": "no)";
  std::ofstream(folder_ / "beat-5.json") << R"({"number": 3, "host": "node1", "pid": 4, "ranks": []})";
  std::ofstream(folder_ / "reply.json") << "{}";
  EXPECT_THAT(read_beats(folder_), ElementsAre(short_one));
}

TEST_F(BeatTest, AFolderThatIsGoneEndsNothing) {
  write_beat("/nonexistent/folder", short_one);
  EXPECT_THAT(read_beats("/nonexistent/folder"), ElementsAre());
}

}  // namespace
}  // namespace parabench::protocol
