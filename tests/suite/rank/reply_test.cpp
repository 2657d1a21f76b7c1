#include "suite/rank/reply.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <thread>

#include "suite/protocol/folder.h"

namespace parabench::rank {
namespace {

TEST(AwaitError, EndsWithTheErrorFileOrTheLimit) {
  std::string folder = std::filesystem::temp_directory_path() / "parabench-reply-XXXXXX";
  ASSERT_TRUE(mkdtemp(folder.data()));
  EXPECT_FALSE(await_error(folder, Rank(1), 0));
  std::thread rank([&] { report_failure(folder, Rank(1), std::runtime_error("the cause")); });
  EXPECT_TRUE(await_error(folder, Rank(1), 60));
  rank.join();
  EXPECT_FALSE(await_error(folder, Rank(2), 0));
  std::filesystem::remove_all(folder);
}

TEST(ReportFailure, LackOfMemoryIsOneOfTheEnvironment) {
  std::string folder = std::filesystem::temp_directory_path() / "parabench-reply-XXXXXX";
  ASSERT_TRUE(mkdtemp(folder.data()));
  report_failure(folder, Rank(0), std::bad_alloc());
  const auto cause = protocol::read_cause(folder);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, protocol::FailureKind::environment);
  EXPECT_EQ(cause->message.find("bad_alloc"), std::string::npos);
}

}  // namespace
}  // namespace parabench::rank
