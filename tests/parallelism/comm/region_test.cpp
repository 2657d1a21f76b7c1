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

bool listed(const std::string& name) { return std::filesystem::exists("/dev/shm" + name); }

TEST(Region, IsZeroedAndSharedByName) {
  const std::string name = unique_region_name();
  Region first = Region::create_shared(name, 1 << 20);
  first.commit(0, 1 << 20);
  Region second = Region::open_shared(name, 1 << 20);
  unlink_region(name);
  EXPECT_FALSE(listed(name));
  EXPECT_EQ(second.data()[12345], std::byte{0});
  first.data()[12345] = std::byte{42};
  EXPECT_EQ(second.data()[12345], std::byte{42});
}

TEST(Region, InTheProcessCostsOnlyWhatIsCommitted) {
  Region region = Region::in_process(std::int64_t{64} << 30);
  region.commit((std::int64_t{32} << 30) + 4090, 100);  // crosses a page
  std::byte* const part = region.data() + (std::int64_t{32} << 30) + 4090;
  EXPECT_EQ(part[99], std::byte{0});
  part[99] = std::byte{1};
}

TEST(Region, MoreThanThereIsIsAnEnvironmentErrorAndLeavesNothing) {
  const std::int64_t too_much = shared_memory_available() + (std::int64_t{1} << 40);
  const std::string name = unique_region_name();
  try {
    Region region = Region::create_shared(name, too_much);
    region.commit(too_much - 4096, 4096);  // one page is there
    region.commit(0, too_much);
    ADD_FAILURE() << too_much << " bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(too_much)));
  }
  unlink_region(name);
  EXPECT_FALSE(listed(name));
}

TEST(Region, LeftByAKilledCreatorIsSweptWhenOld) {
  const std::string name = unique_region_name();
  const pid_t child = fork();
  if (child == 0) {
    Region region = Region::create_shared(name, 4096);
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(listed(name));
  sweep_stale_regions();
  EXPECT_TRUE(listed(name)) << "a young one may belong to a launch that is just starting";
  sweep_stale_regions(0);
  EXPECT_FALSE(listed(name));
}

TEST(Region, OfALivingCreatorIsNotSwept) {
  const std::string name = unique_region_name();
  {
    Region region = Region::create_shared(name, 4096);
    sweep_stale_regions(0);
    EXPECT_TRUE(listed(name));
  }
  unlink_region(name);
}

TEST(SharedMemoryObstacle, NamesBothFigures) {
  EXPECT_EQ(shared_memory_obstacle(64 << 20, 64 << 20), "");
  EXPECT_THAT(shared_memory_obstacle((64 << 20) + 1, 64 << 20),
              testing::AllOf(testing::HasSubstr("64 MiB free"), testing::HasSubstr("need 65 MiB")));
}

}  // namespace
}  // namespace parabench::comm
