#include <gtest/gtest.h>

#include "parallelism/exec/memory.h"

namespace {

constexpr int all_skipped = 77;  ///< SKIP_RETURN_CODE of the tests; what Automake takes for it

}  // namespace

int main(int argc, char** argv) {
  // The allocator must count from the first tensor on, as in parabench-rank.
  parabench::exec::install_counting_allocator();
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  const auto& run = *testing::UnitTest::GetInstance();
  return failed == 0 && run.skipped_test_count() > 0 && run.successful_test_count() == 0 ? all_skipped : failed;
}
