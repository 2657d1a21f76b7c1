#include "parallelism/plan/strategies/parameters.h"

#include <gtest/gtest.h>

#include <string>

#include "base/case_id.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {
namespace {

std::string id_of(const std::string& strategy) {
  const std::string work = "mlp/cifar10-synthetic/", rest = "/np:4/batch:16";
  const std::string id = to_id(canonical(parse_case(work + strategy + rest)));
  return id.substr(work.size(), id.size() - work.size() - rest.size());
}

TEST(Canonical, UsualValuesOfAStrategyAreLeftOut) {
  for (const Strategy& strategy : strategies())
    for (const StrategyParameter& one : strategy.parameters) {
      if (one.usual.find(' ') != std::string_view::npos) continue;  // none that could be written
      const std::string name(strategy.name);
      EXPECT_EQ(id_of(name + "[" + std::string(one.name) + "=" + std::string(one.usual) + "]"), name) << one.name;
    }
}

TEST(Canonical, AValueHasOneText) {
  for (const char* same : {"[fusion=64MiB,cycle=2ms]", "[cycle=2000us]", "[cycle=0.002,fusion=65536KiB]"})
    EXPECT_EQ(id_of(std::string("horovod") + same), "horovod[cycle=2ms]");
  for (const char* same : {"[cycle=0]", "[cycle=0ms]", "[cycle=0s]"})
    EXPECT_EQ(id_of(std::string("horovod") + same), "horovod[cycle=0s]");
  EXPECT_EQ(id_of("local-sgd[every=08]"), "local-sgd[every=8]");
}

TEST(Canonical, ParametersComeInTheOrderOfTheRow) {
  EXPECT_EQ(id_of("local-sgd[outer=nesterov,every=2]"), "local-sgd[every=2,outer=nesterov]");
  EXPECT_EQ(id_of("parameter-server[mode=stale,servers=2]"), "parameter-server[servers=2,mode=stale]");
}

TEST(Canonical, WhatIsRefusedStaysAsItIs) {
  for (const char* refused : {"horovod[fusion=many]", "local-sgd[every=no]", "gpipe[depth=3]", "no-such[x=1]"})
    EXPECT_EQ(id_of(refused), refused);
}

}  // namespace
}  // namespace parabench::plan
