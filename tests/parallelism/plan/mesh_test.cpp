#include "parallelism/plan/mesh.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace parabench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Mesh, CountsRanksAlongTheTensorAxisFirstAndTheDataAxisLast) {
  const Mesh mesh{.data = 2, .pipeline = 3, .tensor = 4};
  EXPECT_EQ(mesh.size(), 24);
  EXPECT_EQ(rank_at(mesh, {.data = 1, .pipeline = 2, .tensor = 3}), Rank(23));
  EXPECT_EQ(rank_at(mesh, {.data = 1, .pipeline = 0, .tensor = 1}), Rank(13));
  for (Rank r; r.value < mesh.size(); ++r) EXPECT_EQ(rank_at(mesh, coordinates_of(mesh, r)), r);
}

TEST(Mesh, ALineHoldsTheRanksThatDifferInOneCoordinate) {
  const Mesh mesh{.data = 2, .pipeline = 2, .tensor = 2};
  const Coordinates at{.data = 0, .pipeline = 1, .tensor = 0};
  EXPECT_THAT(line_through(mesh, Axis::data, at).ranks, ElementsAre(Rank(2), Rank(6)));
  EXPECT_THAT(line_through(mesh, Axis::pipeline, at).ranks, ElementsAre(Rank(0), Rank(2)));
  EXPECT_THAT(line_through(mesh, Axis::tensor, at).ranks, ElementsAre(Rank(2), Rank(3)));
  EXPECT_EQ(line_through(mesh, Axis::tensor, at).axis, Axis::tensor);
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
}  // namespace parabench
