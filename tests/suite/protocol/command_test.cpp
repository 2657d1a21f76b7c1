#include "suite/protocol/command.h"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tests/suite/protocol/any.h"

namespace parabench::protocol {
namespace {

RankCommand read(std::vector<std::string> words) {
  CLI::App app;
  RankCommand command;
  add_options(app, command);
  std::ranges::reverse(words);  // as CLI11 wants them
  app.parse(std::move(words));
  return command;
}

TEST(RankCommand, ComesBackFromItsWords) {
  Any any(1);
  for (int i = 0; i < round_trips; ++i) {
    RankCommand command{.phase = any.one_of<Phase>(), .reply = "/tmp/re ply"};
    if (command.phase != Phase::probe || any.flag()) command.plan = "plan.json";
    if (command.phase == Phase::measure) {
      command.steps = any.whole(1, 1000);
      command.warmup = any.whole(0, 1000);
    }
    if (any.flag()) command.data = "/da\"ta";
    command.skip_corrupt = any.flag();
    command.trace = any.flag();
    command.one_process = any.flag();
    EXPECT_EQ(read(arguments(command)), command) << testing::PrintToString(arguments(command));
  }
}

TEST(RankCommand, AWrongOneIsRefused) {
  EXPECT_THROW(read({"--phase", "probe"}), CLI::RequiredError);
  EXPECT_THROW(read({"--phase", "measure", "--reply", "r"}), CLI::RequiredError);
  EXPECT_THROW(read({"--phase", "prob", "--reply", "r"}), CLI::ValidationError);
  EXPECT_THROW(read({"--phase", "measure", "--reply", "r", "--plan", "p", "--steps", "0"}), CLI::ValidationError);
  EXPECT_THROW(read({"--phase", "probe", "--reply", "r", "--stpes", "2"}), CLI::ExtrasError);
}

}  // namespace
}  // namespace parabench::protocol
