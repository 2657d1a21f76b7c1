#include "suite/cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

namespace parabench::suite {
namespace {

/// The words of "on|off|only"; none of "NAME|TEMPLATE", which stands for others.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  if (type.find('|') == std::string::npos || !std::ranges::all_of(type, [&](char c) { return c == '|' || is_word(c); }))
    return {};
  std::vector<std::string> words;
  std::string rest = type;
  for (auto bar = rest.find('|'); bar != std::string::npos; bar = rest.find('|')) {
    words.push_back(rest.substr(0, bar));
    rest.erase(0, bar + 1);
  }
  words.push_back(rest);
  return words;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

std::string completion_script(const CLI::App& app) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::vector<std::string> names, options, values;
  for (const CLI::App* command : commands) {
    names.push_back(command->get_name());
    options.push_back(
        fmt::format("    {}) words='{}' ;;\n", command->get_name(), fmt::join(options_of(*command), " ")));
    for (const CLI::Option* option : command->get_options()) {
      const auto words = values_of(*option);
      if (!words.empty())
        values.push_back(fmt::format("    '{} {}') words='{}' ;;\n", command->get_name(), option->get_name(),
                                     fmt::join(words, " ")));
    }
  }
  return fmt::format(R"(# Completion of parabench for bash: source this file, or put it into
# ~/.local/share/bash-completion/completions/parabench
_parabench() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}} words=
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{} {}' -- "$current"))
    return
  fi
  case "$command $before" in
{}  esac
  if [ -z "$words" ] && [ "${{current#-}}" = "$current" ]; then
    COMPREPLY=($(compgen -f -- "$current"))
    return
  fi
  [ -n "$words" ] || case $command in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o filenames -F _parabench parabench ./parabench
)",
                     fmt::join(names, " "), fmt::join(options_of(app), " "), fmt::join(values, ""),
                     fmt::join(options, ""));
}

}  // namespace parabench::suite
