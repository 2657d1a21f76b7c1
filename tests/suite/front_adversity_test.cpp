// Places that work against a run: disks that fill up, files that nobody may touch, clocks that jump, too little memory,
// very many cases.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include "base/file.h"
#include "tests/base/sanitized.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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

/// While it lives, this program and those it starts are nobody's, whom permissions bind; they bind whoever is not root
/// anyway.
class Nobody {
 public:
  Nobody() : root_(geteuid() == 0) {
    if (root_) changed_ = setresgid(65534, 65534, 0) == 0 && setresuid(65534, 65534, 0) == 0;
  }
  ~Nobody() {
    if (root_ && (seteuid(0) != 0 || setresuid(0, 0, 0) != 0 || setresgid(0, 0, 0) != 0)) std::abort();
  }
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;
  bool can_run() const {
    return (!root_ || changed_) && access(PARABENCH_PROGRAM, X_OK) == 0 && access(FAKE_RANK_PROGRAM, X_OK) == 0 &&
           access(FAKE_MPIRUN_SCRIPT, X_OK) == 0;
  }

 private:
  bool root_;
  bool changed_ = false;
};

class AdversityTest : public FrontTest {
 protected:
  /// A folder that all may enter, read and write, as far as `may` says.
  void make_folder(const std::string& name, std::filesystem::perms may) {
    std::filesystem::create_directory(path(name));
    std::filesystem::permissions(path(name), may);
  }
  /// Fills the disk from the first launch that measures on.
  std::thread fill_while_measuring(const SmallDisk& disk) const {
    return std::thread([&] {
      while (count_launches("measure") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      disk.fill();
    });
  }
  static constexpr auto all = std::filesystem::perms::all;
  static constexpr auto read_only = std::filesystem::perms(0555);
  static constexpr auto none = std::filesystem::perms::none;
};

/// What is forbidden here is forbidden to nobody, in a scratch folder where all else is allowed.
class PermissionTest : public AdversityTest {
 protected:
  void SetUp() override {
    std::filesystem::permissions(path(""), all);
    make_folder("closed", none);
    make_folder("fixed", read_only);
    nobody_.emplace();
    if (!nobody_->can_run()) GTEST_SKIP() << "the programs of this build are not everybody's";
  }
  void TearDown() override {
    nobody_.reset();
    for (const char* name : {"closed", "fixed"}) std::filesystem::permissions(path(name), all);
  }
  void expect_refused(const std::vector<std::string>& words, int code, const std::vector<std::string>& parts) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    for (const std::string& part : parts) EXPECT_THAT(outcome.err, HasSubstr(part));
    EXPECT_EQ(count_launches("verify") + count_launches("measure") + count_launches("calibrate"), 0);
  }

  std::optional<Nobody> nobody_;
};

TEST_F(PermissionTest, AFileThatMayNotBeWrittenIsNamedBeforeTheFirstLaunch) {
  for (const char* file : {"closed/results.json", "closed/folder/results.json", "fixed/results.json"}) {
    for (const char* option : {"--json=", "--benchmark_out="})
      expect_refused({"run", gpipe, option + std::string(file)}, 4, {file, "can be written", "Permission denied"});
  }
  for (const char* folder : {"closed/traces", "fixed"})
    expect_refused({"run", gpipe, "--trace", folder}, 4, {"--trace", folder, "can be written", "Permission denied"});
}

TEST_F(PermissionTest, DataThatMayNotBeReadIsNamedBeforeTheFirstLaunch) {
  for (const char* folder : {"closed", "closed/data"})
    expect_refused({"run", gpipe, "--data", folder}, 2, {"--data", folder, "Permission denied"});
}

TEST_F(PermissionTest, AJournalThatMayNotBeWrittenIsNamedBeforeTheFirstLaunch) {
  make_folder("results.json.journal", read_only);
  expect_refused({"run", gpipe, "--json", "results.json"}, 4, {"results.json", "Permission denied"});
}

TEST_F(PermissionTest, ATemporaryFolderThatMayNotBeWrittenIsNamed) {
  set("TMPDIR", path("fixed"));
  expect_refused({"run", gpipe}, 4, {path("fixed"), "set TMPDIR"});
}

TEST_F(PermissionTest, ACalibrationThatMayNotBeReadIsNamed) {
  for (const char* command : {"predict", "run"})
    expect_refused({command, gpipe, "--calibration", "closed/mine.json"}, 2, {"closed/mine.json", "Permission denied"});
}

TEST_F(PermissionTest, WithoutACacheEverythingWorksAndNothingIsRemembered) {
  for (const char* cache : {"closed", "fixed"}) {
    set("XDG_CACHE_HOME", path(cache));
    for (const char* command : {"predict", "list"}) {
      const Outcome told = run({command, gpipe});
      EXPECT_EQ(told.code, 0) << told.err;
    }
    const Outcome outcome = run({"run", gpipe, "--json", "results.json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("serves this run alone"), HasSubstr("Permission denied")));
    EXPECT_EQ(results()["records"][0]["predicted"]["terms"][0]["cost_source"], "calibrated");
    // To write the file is all that calibrate is for.
    const Outcome calibrated = run({"calibrate", gpipe});
    EXPECT_EQ(calibrated.code, 4) << calibrated.err;
    EXPECT_THAT(calibrated.err, AllOf(HasSubstr("calibration file"), HasSubstr("Permission denied")));
  }
}

TEST_F(AdversityTest, ADiskWithoutRoomIsNoticedBeforeTheFirstLaunch) {
  const SmallDisk disk(path("disk"), 512);
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a file system is not permitted here";
  const Outcome outcome = run({"run", gpipe, "--json", "disk/results.json"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("free disk space"), HasSubstr("512 KiB"), HasSubstr("--json")));
  EXPECT_TRUE(launches().empty());
}

TEST_F(AdversityTest, AFullDiskIsNoticedBeforeTheFirstLaunch) {
  const SmallDisk disk(path("disk"), 64);
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a file system is not permitted here";
  disk.fill();
  for (const std::string option : {"--json=disk/results.json", "--benchmark_out=disk/results.json", "--trace=disk"}) {
    const Outcome outcome = run({"run", gpipe, option});
    EXPECT_EQ(outcome.code, 4) << option;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("can be written"), HasSubstr("No space left")));
  }
  EXPECT_TRUE(launches().empty());
}

TEST_F(AdversityTest, ADiskThatFillsUpMeanwhileLosesNothing) {
  const SmallDisk disk(path("disk"), 4096);
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a file system is not permitted here";
  set("FAKE_RANK", "sequential|measure|slow|0");
  std::thread filling = fill_while_measuring(disk);
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

TEST_F(AdversityTest, ATraceThatCannotBeKeptCostsNoSample) {
  const SmallDisk disk(path("disk"), 64);
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a file system is not permitted here";
  set("FAKE_RANK", "gpipe|measure|slow|0");
  std::thread filling = fill_while_measuring(disk);
  const Outcome outcome = run({"run", gpipe, "--trace", "disk", "--repetitions", "2", "--json", "results.json"});
  filling.join();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("the trace is not kept"), HasSubstr("No space left")));
  const auto record = results()["records"].at(0);
  EXPECT_EQ(record["status"], "ok");
  EXPECT_EQ(record["measured"]["step_time_s"]["samples"].size(), 2u);
}

TEST_F(AdversityTest, AFolderThatCannotBeWrittenIsNoticedBeforeTheFirstLaunch) {
  for (const std::string option :
       {"--json=/proc/results.json", "--benchmark_out=/proc/results.json", "--trace=/proc"}) {
    for (const bool dry : {false, true}) {
      std::vector<std::string> words = {"run", gpipe, option};
      if (dry) words.push_back("--dry-run");
      const Outcome outcome = run(words);
      EXPECT_EQ(outcome.code, 4) << option;
      EXPECT_THAT(outcome.err, AllOf(HasSubstr("/proc"), HasSubstr("no file can be made in that folder")));
    }
  }
  EXPECT_TRUE(launches().empty());
}

TEST_F(AdversityTest, EveryCommandEndsAlikeWhereItsOutputCannotBeWritten) {
  ASSERT_EQ(run({"run", gpipe, "--json", "results.json"}).code, 0);
  std::ofstream(path("sweep.toml")) << "name = \"a\"\ncases = [\"" << gpipe << "\"]\n";
  const int before = static_cast<int>(launches().size());
  const std::vector<std::vector<std::string>> commands = {
      {"run", gpipe, "--trace"},
      {"calibrate", gpipe, "--out"},
      {"report", "results.json", "--figures", "off", "--out"},
      {"sweep", "sweep.toml", "--scheduler", "local", "--out"},
  };
  for (std::vector<std::string> words : commands) {
    const std::string shown = words.front();
    words.push_back("results.json/below");
    const Outcome impossible = run(words);
    EXPECT_EQ(impossible.code, 2) << shown << ": no such path can be\n" << impossible.err;
    words.back() = shown == "calibrate" ? "/proc/file" : "/proc/folder";
    const Outcome refused = run(words);
    EXPECT_EQ(refused.code, 4) << shown << ": the machine lets nobody write there\n" << refused.err;
    for (const Outcome& outcome : {impossible, refused})
      EXPECT_THAT(outcome.err, AllOf(HasSubstr(words[words.size() - 2] + ": got '"), HasSubstr("can be written")));
  }
  EXPECT_EQ(static_cast<int>(launches().size()), before) << "nothing ran in vain";
}

TEST_F(AdversityTest, AFullDiskBelowStandardOutputIsNoSuccess) {
  const std::string line = std::string(PARABENCH_PROGRAM) + " list --sets > /dev/full 2> " + path("err").string();
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 4);
  EXPECT_THAT(read_text(path("err")), HasSubstr("standard output"));
}

TEST_F(AdversityTest, AClockThatJumpsBackAndForthChangesNoTime) {
  if (under_sanitizer) GTEST_SKIP() << "a sanitizer's library has to be the first one";
  set("LD_PRELOAD", STEPPING_CLOCK);
  const Outcome outcome = run({"run", gpipe, sequential, "--json", "results.json", "--repetitions", "2"});
  set("LD_PRELOAD", "");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const auto& record : results()["records"]) EXPECT_EQ(record["status"], "ok");
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
}

/// A control group with little memory, in which this program and those that it starts are until its end.
class SmallMemory {
 public:
  explicit SmallMemory(int mebibytes) {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      const auto first = line.find(':'), second = line.find(':', first + 1);
      const std::string controllers = line.substr(first + 1, second - first - 1), name = line.substr(second + 1);
      if (controllers == "memory") {
        enter("/sys/fs/cgroup/memory" + name, {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"}, mebibytes);
      } else if (controllers.empty() && before_.empty()) {
        enter("/sys/fs/cgroup" + name, {"memory.max", "memory.swap.max"}, mebibytes);
      }
      if (entered_) return;
    }
  }
  ~SmallMemory() {
    if (entered_) write(before_ / "cgroup.procs", getpid());
    if (!group_.empty()) rmdir(group_.c_str());
  }
  SmallMemory(const SmallMemory&) = delete;
  SmallMemory& operator=(const SmallMemory&) = delete;
  bool is_entered() const { return entered_; }

 private:
  void enter(const std::filesystem::path& before, const std::vector<std::string>& limits, int mebibytes) {
    const std::filesystem::path group = before / ("parabench-test-" + std::to_string(getpid()));
    if (mkdir(group.c_str(), 0755) != 0) return;
    before_ = before;
    group_ = group;
    const bool limited = write(group / limits[0], std::int64_t{mebibytes} << 20);
    write(group / limits[1], limits[1] == "memory.swap.max" ? 0 : std::int64_t{mebibytes} << 20);
    entered_ = limited && write(group / "cgroup.procs", getpid());
  }
  static bool write(const std::filesystem::path& file, std::int64_t value) {
    std::ofstream stream(file);
    return static_cast<bool>(stream << value << std::flush);
  }

  std::filesystem::path before_, group_;
  bool entered_ = false;
};

TEST_F(AdversityTest, AKillForExceedingAMemoryLimitIsNamed) {
  if (under_sanitizer) GTEST_SKIP() << "a sanitizer takes more memory";
  set("FAKE_RANK", "gpipe|measure|eat|1");
  std::optional<SmallMemory> memory(96);
  if (!memory->is_entered()) GTEST_SKIP() << "control groups with a memory limit are not permitted here";
  const Outcome outcome = run({"run", gpipe, sequential, "--json", "results.json"});
  memory.reset();
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const auto records = results()["records"];
  EXPECT_EQ(records[0]["status"], "failed");
  EXPECT_THAT(records[0]["reason"].get<std::string>(), HasSubstr("exceeding the memory limit of 96"));
  EXPECT_EQ(records[1]["status"], "ok");
}

/// Has the kernel kill a process for its memory, in a control group that is none of the caller's. False where such
/// groups are not permitted.
bool kill_somebody_for_memory() {
  const SmallMemory memory(32);
  if (!memory.is_entered()) return false;
  const pid_t hungry = fork();
  if (hungry == 0) {
    const std::string much(256 << 20, 'x');
    _exit(much.back() == 'x' ? 0 : 1);
  }
  int status = 0;
  waitpid(hungry, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST_F(AdversityTest, AKillOfSomebodyElseIsNotTakenForTheCause) {
  set("FAKE_RANK", "gpipe|measure|hang|-1");
  const pid_t elsewhere = fork();
  if (elsewhere == 0) {
    while (count_launches("measure") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    _exit(kill_somebody_for_memory() ? 0 : 1);
  }
  const Outcome outcome = run({"run", gpipe, "--json", "results.json", "--timeout", "5"});
  int status = 0;
  waitpid(elsewhere, &status, 0);
  if (status != 0) GTEST_SKIP() << "control groups with a memory limit are not permitted here";
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(results()["records"][0]["reason"].get<std::string>(),
              AllOf(HasSubstr("timed out"), Not(HasSubstr("memory"))));
}

/// A limit of this program and those that it starts, until its end.
class Limit {
 public:
  Limit(__rlimit_resource what, rlim_t most) : what_(what) {
    getrlimit(what_, &before_);
    const rlimit limit{most, before_.rlim_max};
    set_ = setrlimit(what_, &limit) == 0;
  }
  ~Limit() { setrlimit(what_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  bool is_set() const { return set_; }

 private:
  __rlimit_resource what_;
  rlimit before_{};
  bool set_ = false;
};

TEST_F(AdversityTest, AListWhoseThreadsHaveNoRoomIsComplete) {
  if (under_sanitizer) GTEST_SKIP() << "a sanitizer takes more address space";
  const std::vector<std::string> words = {"list", "--where", "model=resnet18"};
  const Outcome usual = run(words);
  std::filesystem::remove_all(path("cache"));
  // A thread takes a stack as large as its limit allows.
  const Limit stack(RLIMIT_STACK, rlim_t{8} << 30), space(RLIMIT_AS, rlim_t{4} << 30);
  if (!stack.is_set() || !space.is_set()) GTEST_SKIP() << "limits may not be changed here";
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, usual.out);
}

TEST_F(AdversityTest, TooLittleMemoryIsNamed) {
  if (under_sanitizer) GTEST_SKIP() << "a sanitizer takes more address space";
  const Limit space(RLIMIT_AS, rlim_t{100} << 20);
  if (!space.is_set()) GTEST_SKIP() << "limits may not be changed here";
  const Outcome outcome =
      run({"plan", "vgg16/imagenet-synthetic/gpipe/np:8/batch:4096/micro:2048", "--format", "json"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("memory"), HasSubstr("ulimit -v allows 100 MiB")));
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
