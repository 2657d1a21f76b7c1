#include "results/exchange_table.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

TEST(ExchangeTable, LooksAsTheGoldenFile) {
  const std::string path = std::string(GOLDEN_DIR) + "/exchange_table.txt";
  const std::string table = exchange_table(sample_exchanges());
  if (std::getenv("PARABENCH_UPDATE_GOLDEN")) write_atomically(path, table);
  EXPECT_EQ(table, read_text(path)) << "PARABENCH_UPDATE_GOLDEN=1 rewrites it";
}

}  // namespace
}  // namespace parabench::results
