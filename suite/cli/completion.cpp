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

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// The lines of two case statements: by "COMMAND --option" the option's values, by "COMMAND" its words.
struct Cases {
  std::string values, words;
};

/// Of a command, named with those above it, and of its own commands.
void add_command(const CLI::App& command, const std::string& name, Cases& cases) {
  std::vector<std::string> words = options_of(command);
  for (const CLI::App* below : commands_of(command)) {
    words.insert(words.begin(), below->get_name());
    add_command(*below, name + " " + below->get_name(), cases);
  }
  cases.words += fmt::format("    '{}') words='{}' ;;\n", name, fmt::join(words, " "));
  for (const CLI::Option* option : command.get_options()) {
    const auto values = values_of(*option);
    if (values.empty()) continue;
    cases.values += fmt::format("    '{} {}') words='{}' ;;\n", name, option->get_name(), fmt::join(values, " "));
  }
}

}  // namespace

std::string completion_script(const CLI::App& app) {
  Cases cases;
  std::vector<std::string> names = {"help"}, nested;
  for (const CLI::App* command : commands_of(app)) {
    names.push_back(command->get_name());
    add_command(*command, command->get_name(), cases);
    for (const CLI::App* below : commands_of(*command))
      nested.push_back(fmt::format("'{} {}'", command->get_name(), below->get_name()));
  }
  return fmt::format(R"(# Completion of parabench for bash and zsh: source this file, or for bash put it into
# ~/.local/share/bash-completion/completions/parabench
if [ -n "${{ZSH_VERSION-}}" ]; then autoload -U +X compinit bashcompinit && compinit && bashcompinit; fi
_parabench() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}} words=
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{} {}' -- "$current"))
    return
  fi
  if [ "$COMP_CWORD" != 2 ]; then
    case "$command ${{COMP_WORDS[2]}}" in
    {}) command="$command ${{COMP_WORDS[2]}}" ;;
    esac
  fi
  case "$command $before" in
{}  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case $command in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ "${{current#-}}" = "$current" ]; then
    COMPREPLY=($(for word in "${{COMPREPLY[@]}}"; do case $word in -*) ;; *) echo "$word" ;; esac; done)
      $(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _parabench parabench ./parabench
)",
                     fmt::join(names, " "), fmt::join(options_of(app), " "), fmt::join(nested, " | "), cases.values,
                     cases.words);
}

}  // namespace parabench::suite
