#include "suite/run/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "suite/launch/launch.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

int descriptors_of(const fs::path& path) {
  int count = 0;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd"))
    count += fs::read_symlink(entry.path(), gone) == path;
  return count;
}

class JournalTest : public testing::Test {
 protected:
  /// Makes a journal, which finds the lock taken; while it waits, the owner removes the folder and lets go. nullopt
  /// where the wait was over before.
  std::optional<bool> has_the_lock_after_a_removal() {
    fs::create_directory(folder_);
    const int owner = open(lock_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    EXPECT_EQ(flock(owner, LOCK_EX | LOCK_NB), 0);
    auto made = std::async(std::launch::async, [this]() -> std::optional<bool> {
      try {
        const Journal journal(results_, 1, progress_);
        return is_being_written(results_);
      } catch (const Error&) {
        return std::nullopt;
      }
    });
    while (descriptors_of(lock_) < 2 && made.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    }
    fs::remove_all(folder_);
    close(owner);
    return made.get();
  }

  ScratchFolder scratch_;
  std::ostringstream notes_;
  Progress progress_{notes_, false};
  const fs::path results_ = scratch_.path() / "results.json", folder_ = results_.string() + ".journal",
                 lock_ = folder_ / "lock";
};

TEST_F(JournalTest, ALockThatWasRemovedMeanwhileIsTakenAnew) {
  std::optional<bool> locked;
  for (int attempt = 0; attempt < 20 && !locked; ++attempt) locked = has_the_lock_after_a_removal();
  EXPECT_EQ(locked, true);
}

TEST_F(JournalTest, TheEndOfAFinishedOneLeavesTheNextItsLock) {
  std::optional<Journal> first(std::in_place, results_, 1, progress_);
  ASSERT_TRUE(first->finish({}, true));
  const Journal second(results_, 1, progress_);
  first.reset();
  EXPECT_TRUE(is_being_written(results_));
}

results::ResultsFile of_day(const std::string& date) {
  results::ResultsFile results;
  results.context.date = date;
  return results;
}

TEST_F(JournalTest, ResultsThatARunReplacesStayBesideIt) {
  const std::string monday = "2026-11-23T00:00:00Z", tuesday = "2026-11-24T00:00:00Z";
  const auto run = [&](const std::string& date, bool goes_on, bool complete) {
    Journal journal(results_, 1, progress_);
    journal.begin(of_day(date), goes_on);
    EXPECT_TRUE(journal.finish(of_day(date), complete));
  };
  const auto date_in = [](const fs::path& path) { return read_json(path).at("context").at("date").get<std::string>(); };
  const fs::path previous = results_.string() + ".previous";
  run(monday, false, true);
  EXPECT_FALSE(fs::exists(previous));
  run(tuesday, false, false);
  EXPECT_EQ(date_in(previous), monday);
  EXPECT_THAT(notes_.str(), testing::HasSubstr(previous.string()));
  // What goes on holds what was there.
  run(tuesday, true, true);
  EXPECT_EQ(date_in(previous), monday);
  EXPECT_EQ(date_in(results_), tuesday);
}

TEST_F(JournalTest, OneThatNeverBeganLeavesNothing) {
  { const Journal journal(results_, 1, progress_); }
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace parabench::suite
