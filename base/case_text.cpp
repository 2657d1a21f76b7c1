#include "base/case_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace parabench {
namespace {

bool is_word(std::string_view text, std::string_view extra) {
  return !text.empty() && std::ranges::all_of(text, [extra](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || extra.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

CommKind default_comm(DeviceKind device) {
  switch (device) {
    case DeviceKind::cpu: return CommKind::mpi;
    case DeviceKind::cuda: return CommKind::nccl;
    case DeviceKind::emulated: return CommKind::threads;
  }
  return CommKind::mpi;
}

std::string to_text(const NamedChoice& choice) {
  std::string text = choice.name;
  for (const auto& [key, value] : choice.parameters) {
    text += fmt::format("{}{}={}", text.size() == choice.name.size() ? "[" : ",", key, value);
  }
  if (!choice.parameters.empty()) text += "]";
  return text;
}

NamedChoice parse_choice(std::string_view subject, std::string_view text) {
  constexpr std::size_t longest = 1000;
  if (text.size() > longest)
    throw usage_error(subject, fmt::format("{}... of {} characters", text.substr(0, 40), text.size()),
                      fmt::format("at most {} characters", longest));
  const auto refuse = [&](std::string_view hint) {
    return usage_error(subject, text, "a name, with parameters in brackets where it takes some", hint);
  };
  const std::size_t open = std::min(text.find('['), text.size());
  NamedChoice choice{std::string(text.substr(0, open)), {}};
  if (!is_word(choice.name, "")) throw refuse("names are letters, digits, '-' and '_'");
  if (open == text.size()) return choice;
  if (!text.ends_with(']')) throw refuse("close the bracket: name[key=value,key=value]");
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (true) {
    const std::string_view parameter = rest.substr(0, rest.find(','));
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view key = parameter.substr(0, equals);
    const std::string_view value = parameter.substr(std::min(equals + 1, parameter.size()));
    if (!is_word(key, "") || !is_word(value, ".+")) throw refuse("write name[key=value,key=value]");
    for (const auto& [other, ignored] : choice.parameters) {
      if (other == key) throw refuse(fmt::format("give '{}' once", key));
    }
    choice.parameters.emplace_back(key, value);
    if (parameter.size() == rest.size()) return choice;
    rest.remove_prefix(parameter.size() + 1);
  }
}

}  // namespace parabench
