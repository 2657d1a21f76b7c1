#include "parallelism/comm/region.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/error.h"

namespace parabench::comm {
namespace {

using std::filesystem::exists;

void expect_shared(Region& first, const std::string& path) {
  Region second = Region::open_shared(path, first.bytes());
  EXPECT_EQ(second.data()[12345], std::byte{0});
  first.data()[12345] = std::byte{42};
  EXPECT_EQ(second.data()[12345], std::byte{42});
}

TEST(Region, IsZeroedAndSharedWithoutAName) {
  Region region = Region::create_shared(1 << 20);
  region.commit(0, 1 << 20);
  expect_shared(region, region.open_path());
}

TEST(Region, IsSharedUnderANameUntilThatIsTakenAway) {
  Region region = Region::create_shared(1 << 20);
  region.commit(0, 1 << 20);
  const std::string path = unique_region_path();
  region.give_name(path);
  EXPECT_TRUE(exists(path));
  expect_shared(region, path);
  unlink_region(path);
  EXPECT_FALSE(exists(path));
}

TEST(Region, AnotherFileIsNotTakenForOne) {
  const Region region = Region::create_shared(1 << 20);
  EXPECT_THROW(Region::open_shared(region.open_path(), 4096), Error);
  EXPECT_THROW(Region::open_shared("/dev/zero", 1 << 20), Error);
  EXPECT_THROW(Region::open_shared(unique_region_path(), 1 << 20), Error);
}

TEST(Region, OfAKilledCreatorLeavesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    Region region = Region::create_shared(4096);
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    EXPECT_FALSE(entry.path().filename().string().starts_with("parabench-" + std::to_string(child))) << entry.path();
}

TEST(Region, InTheProcessCostsOnlyWhatIsCommitted) {
  Region region = Region::in_process(std::int64_t{64} << 30);
  region.commit((std::int64_t{32} << 30) + 4090, 100);  // crosses a page
  std::byte* const part = region.data() + (std::int64_t{32} << 30) + 4090;
  EXPECT_EQ(part[99], std::byte{0});
  part[99] = std::byte{1};
}

TEST(Region, MoreThanThereIsIsAnEnvironmentError) {
  const std::int64_t too_much = shared_memory_available() + (std::int64_t{1} << 40);
  try {
    Region region = Region::create_shared(too_much);
    region.commit(too_much - 4096, 4096);  // one page is there
    region.commit(0, too_much);
    ADD_FAILURE() << too_much << " bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(too_much)));
  }
}

TEST(Region, ANameLeftByAKilledCreatorIsSweptWhenOld) {
  const std::string path = unique_region_path();
  const pid_t child = fork();
  if (child == 0) {
    Region::create_shared(4096).give_name(path);
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(exists(path));
  sweep_stale_regions();
  EXPECT_TRUE(exists(path)) << "a young one may belong to a launch that is just starting";
  sweep_stale_regions(0);
  EXPECT_FALSE(exists(path));
}

TEST(Region, OfALivingCreatorIsNotSwept) {
  const std::string path = unique_region_path();
  {
    Region region = Region::create_shared(4096);
    region.give_name(path);
    sweep_stale_regions(0);
    EXPECT_TRUE(exists(path));
  }
  unlink_region(path);
}

TEST(SharedMemoryObstacle, NamesBothFigures) {
  EXPECT_EQ(shared_memory_obstacle(64 << 20, 64 << 20), "");
  EXPECT_THAT(shared_memory_obstacle((64 << 20) + 1, 64 << 20),
              testing::AllOf(testing::HasSubstr("64 MiB free"), testing::HasSubstr("need 65 MiB")));
}

}  // namespace
}  // namespace parabench::comm
