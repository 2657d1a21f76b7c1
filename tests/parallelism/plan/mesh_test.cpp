#include "parallelism/plan/mesh.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace parabench::plan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Mesh, CountsRanksAlongTheTensorAxisFirstAndTheDataAxisLast) {
  const Mesh mesh{.data = 2, .pipeline = 3, .tensor = 4};
  EXPECT_EQ(mesh.size(), 24);
  EXPECT_EQ(rank_at(mesh, {.data = 1, .pipeline = 2, .tensor = 3}), Rank(23));
  EXPECT_EQ(rank_at(mesh, {.data = 1, .pipeline = 0, .tensor = 1}), Rank(13));
}

std::string error_of(const Mesh& mesh, int np) {
  try {
    require_ranks(mesh, np);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Mesh, MultipliesToTheRanksOrSaysWithWhichValuesItDoesNot) {
  EXPECT_EQ(error_of({.data = 2, .pipeline = 3, .tensor = 1}, 6), "");
  EXPECT_THAT(error_of({.data = 2, .pipeline = 3, .tensor = 2}, 8),
              AllOf(HasSubstr("2 x 3 x 2"), HasSubstr("np, 8, not 12"), HasSubstr("np:12")));
  EXPECT_THAT(error_of({.data = 2, .pipeline = -3, .tensor = -1}, 6), HasSubstr("2 x -3 x -1"));
}

}  // namespace
}  // namespace parabench::plan
