#include "suite/protocol/command.h"

#include <CLI/CLI.hpp>

#include "base/called.h"

namespace parabench::protocol {
namespace {

constexpr const char* plan_option = "--plan";
constexpr const char* phase_option = "--phase";
constexpr const char* reply_option = "--reply";
constexpr const char* steps_option = "--steps";
constexpr const char* warmup_option = "--warmup";
constexpr const char* data_option = "--data";
constexpr const char* skip_corrupt_flag = "--skip-corrupt";
constexpr const char* trace_flag = "--trace";
constexpr const char* one_process_flag = "--one-process";

}  // namespace

std::vector<std::string> arguments(const RankCommand& command) {
  std::vector<std::string> words = {phase_option, std::string(to_text(command.phase)), reply_option, command.reply};
  if (!command.plan.empty()) words.insert(words.end(), {plan_option, command.plan});
  if (command.phase == Phase::measure || command.phase == Phase::paired) {
    words.insert(words.end(),
                 {steps_option, std::to_string(command.steps), warmup_option, std::to_string(command.warmup)});
  }
  if (!command.data.empty()) words.insert(words.end(), {data_option, command.data});
  if (command.skip_corrupt) words.emplace_back(skip_corrupt_flag);
  if (command.trace) words.emplace_back(trace_flag);
  if (command.one_process) words.emplace_back(one_process_flag);
  return words;
}

void add_options(CLI::App& app, RankCommand& command) {
  const auto& phases = enum_names<Phase>;
  app.add_option(plan_option, command.plan,
                 "plan file (" + to_type("plan CASE --format json") + "); work of phase communicate (" +
                     to_type("communicate --dry-run") + ")");
  app.add_option_function<std::string>(
         phase_option, [&](const std::string& text) { command.phase = parse_enum<Phase>(phase_option, text); },
         "what to do")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(phases.begin(), phases.end())));
  app.add_option(reply_option, command.reply, "folder for reply.json, shared by all hosts")->required();
  app.add_option(steps_option, command.steps, "measured steps")->check(CLI::PositiveNumber);
  app.add_option(warmup_option, command.warmup, "discarded steps before them")->check(CLI::NonNegativeNumber);
  app.add_option(data_option, command.data, "folder of a data set from files");
  app.add_flag(skip_corrupt_flag, command.skip_corrupt, "replace unreadable samples and count them");
  app.add_flag(trace_flag, command.trace, "write trace.json beside the reply");
  app.add_flag(one_process_flag, command.one_process, "ranks of comm:nccl are threads of this process");
  app.callback([&command] {
    if (command.phase != Phase::probe && command.plan.empty()) throw CLI::RequiredError(plan_option);
  });
}

}  // namespace parabench::protocol
