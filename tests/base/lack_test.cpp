#include "base/lack.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

namespace parabench {
namespace {

using testing::HasSubstr;

TEST(Lack, AFailedAllocationNamesTheLimit) {
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  // More than sanitizers take.
  const rlimit limit{before.rlim_max == RLIM_INFINITY ? rlim_t{1} << 50 : before.rlim_max, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const auto lack = lack_behind(std::bad_alloc());
  setrlimit(RLIMIT_AS, &before);
  ASSERT_TRUE(lack);
  EXPECT_EQ(lack->code(), ExitCode::environment);
  EXPECT_THAT(lack->what(), HasSubstr("ulimit -v allows"));
}

TEST(Lack, AThreadThatCannotStartIsOne) {
  const auto lack = lack_behind(std::system_error(EAGAIN, std::generic_category()));
  ASSERT_TRUE(lack);
  EXPECT_EQ(lack->code(), ExitCode::environment);
  EXPECT_THAT(lack->what(), HasSubstr("threads"));
}

TEST(Lack, OtherExceptionsAreNone) {
  EXPECT_FALSE(lack_behind(std::runtime_error("memory")));
  EXPECT_FALSE(lack_behind(std::system_error(ENOENT, std::generic_category())));
}

}  // namespace
}  // namespace parabench
