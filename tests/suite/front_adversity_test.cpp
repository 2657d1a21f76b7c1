// Places that work against a run: disks that fill up, clocks that jump, very many cases.
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A disk of its own below the test's folder.
class SmallDisk {
 public:
  SmallDisk(std::filesystem::path folder, int kibibytes) : folder_(std::move(folder)) {
    std::filesystem::create_directory(folder_);
    const std::string options = "size=" + std::to_string(kibibytes) + "k";
    mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool is_mounted() const { return mounted_; }
  void fill() const {
    std::ofstream file(folder_ / "filling");
    const std::string block(4096, 'x');
    while (file.write(block.data(), std::ssize(block)).flush()) {
    }
  }

 private:
  std::filesystem::path folder_;
  bool mounted_ = false;
};

class AdversityTest : public FrontTest {};

TEST_F(AdversityTest, ADiskWithoutRoomIsNoticedBeforeTheFirstLaunch) {
  const SmallDisk disk(path("disk"), 512);
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a file system is not permitted here";
  const Outcome outcome = run({"run", gpipe, "--json", "disk/results.json"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("free disk space"), HasSubstr("512 KiB"), HasSubstr("--json")));
  EXPECT_TRUE(launches().empty());
}

TEST_F(AdversityTest, ADiskThatFillsUpMeanwhileLosesNothing) {
  const SmallDisk disk(path("disk"), 4096);
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a file system is not permitted here";
  set("FAKE_RANK", "sequential|measure|slow|0");
  std::thread filling([&] {
    while (count_launches("measure") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    disk.fill();
  });
  const Outcome outcome = run({"run", sequential, gpipe, "--json", "disk/results.json"});
  filling.join();
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("kept in memory"), HasSubstr("No space left"), HasSubstr("instead")));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("sequential"), HasSubstr("gpipe")));
  std::filesystem::path elsewhere;
  for (const auto& entry : std::filesystem::directory_iterator(path("")))
    if (entry.path().filename().string().starts_with("results.json.")) elsewhere = entry.path();
  ASSERT_FALSE(elsewhere.empty());
  EXPECT_EQ(run({"validate", elsewhere}).code, 0);
  EXPECT_EQ(results(elsewhere.filename())["records"].size(), 2u);
}

TEST_F(AdversityTest, AFolderThatCannotBeWrittenIsNoticedBeforeTheFirstLaunch) {
  const Outcome outcome = run({"run", gpipe, "--json", "/proc/results.json"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("/proc/results.json"));
  EXPECT_TRUE(launches().empty());
}

TEST_F(AdversityTest, AClockThatJumpsBackAndForthChangesNoTime) {
  set("LD_PRELOAD", STEPPING_CLOCK);
  const Outcome outcome = run({"run", gpipe, sequential, "--json", "results.json", "--repetitions", "2"});
  set("LD_PRELOAD", "");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const auto& record : results()["records"]) EXPECT_EQ(record["status"], "ok");
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
}

TEST_F(AdversityTest, TenThousandCasesAreAListLikeAnyOther) {
  std::vector<std::string> words = {"list", "--json"};
  for (int i = 1; i <= 10'000; ++i)
    words.push_back("mlp[layers=2,hidden=8]/mnist-synthetic/sequential/np:1/batch:" + std::to_string(i));
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out).size(), 10'000u);
}

}  // namespace
}  // namespace parabench::suite
