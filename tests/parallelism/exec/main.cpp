#include <gtest/gtest.h>

#include "parallelism/exec/memory.h"

// The allocator must count from the first tensor on, as in parabench-rank.
int main(int argc, char** argv) {
  parabench::exec::install_counting_allocator();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
