// Which plans should be predicted as they were timed.
#include "suite/accuracy/closure.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/case_id.h"

namespace parabench::suite {
namespace {

results::JudgedCase judged(const std::string& strategy) {
  const Case spec = parse_case("mlp/cifar10-synthetic/" + strategy + "/batch:32");
  return {.id = to_id(spec), .parameters = spec, .paired = 0.25};
}

TEST(Closure, OfSeveralRanksIsThePairedErrorOfThoseThatHardlyEverMeet) {
  std::vector<results::JudgedCase> cases = {judged("local-sgd[every=16]/np:2"), judged("local-sgd[every=100]/np:4")};
  note_closures(cases);
  for (const results::JudgedCase& one : cases) EXPECT_EQ(one.closure_apart, 0.25) << one.id;
}

TEST(Closure, IsNotOfRanksThatMeetMoreOftenNorOfOneAlone) {
  std::vector<results::JudgedCase> cases = {judged("local-sgd[every=15]/np:2"), judged("data-parallel/np:2"),
                                            judged("local-sgd[every=16]/np:1"), judged("sequential/np:1")};
  note_closures(cases);
  for (const results::JudgedCase& one : cases) EXPECT_FALSE(one.closure_apart) << one.id;
}

}  // namespace
}  // namespace parabench::suite
