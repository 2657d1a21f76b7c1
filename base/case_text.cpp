#include "base/case_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/units_text.h"

namespace parabench {
namespace {

constexpr bool at_least_one(double x) { return x >= 1; }
constexpr bool not_negative(double x) { return x >= 0; }
constexpr bool positive(double x) { return x > 0; }
constexpr bool below_one(double x) { return x >= 0 && x < 1; }

constexpr std::array<CaseKey, 22> keys{{
    {"np", &Case::np, at_least_one, "an integer >= 1"},
    {"batch", &Case::batch, at_least_one, "an integer >= 1"},
    {"micro", &Case::micro, at_least_one, "an integer >= 1"},
    {"dp", &Case::dp, at_least_one, "an integer >= 1"},
    {"chunks", &Case::chunks, at_least_one, "an integer >= 1"},
    {"warmup", &Case::warmup, not_negative, "an integer >= 0"},
    {"bucket", &Case::bucket, at_least_one, "a size of at least one byte"},
    {"recompute", &Case::recompute},
    {"partition", &Case::partition},
    {"memory", &Case::memory, at_least_one, "a size of at least one byte"},
    {"precision", &Case::precision},
    {"layout", &Case::layout},
    {"device", &Case::device},
    {"comm", &Case::comm},
    {"threads", &Case::threads, at_least_one, "an integer >= 1"},
    {"graph", &Case::graph},
    {"loader", &Case::loader, at_least_one, "an integer >= 1"},
    {"input", &Case::input},
    {"lr", &Case::lr, positive, "a number > 0"},
    {"momentum", &Case::momentum, below_one, "a number >= 0 and < 1"},
    {"weight_decay", &Case::weight_decay, not_negative, "a number >= 0"},
    {"seed", &Case::seed, nullptr, "an integer from 0 to 18446744073709551615"},
}};

constexpr std::array<std::string_view, 2> switch_names{"off", "on"};

std::string print(int value) { return std::to_string(value); }
std::string print(std::optional<int> value) { return value ? print(*value) : ""; }
std::string print(std::uint64_t value) { return std::to_string(value); }
std::string print(double value) { return print_number(value); }
std::string print(bool value) { return std::string(switch_names[value]); }
std::string print(Bytes value) { return print_bytes(value); }
std::string print(std::optional<Bytes> value) { return value ? print(*value) : ""; }
template <NamedEnum E>
std::string print(E value) {
  return std::string(to_text(value));
}

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The value that `text` spells, or nullopt. Enumerations and sizes throw by themselves, knowing better what is wrong.
template <class T>
std::optional<T> read(std::string_view name, std::string_view text) {
  if constexpr (std::is_same_v<T, bool>) {
    return index_of_name(name, text, switch_names) == 1;
  } else if constexpr (NamedEnum<T>) {
    return parse_enum<T>(name, text);
  } else if constexpr (std::is_same_v<T, Bytes> || std::is_same_v<T, std::optional<Bytes>>) {
    return parse_bytes(name, text);
  } else if constexpr (std::is_same_v<T, std::optional<int>>) {
    const auto number = read_number<int>(text);
    return number ? std::optional<T>(number) : std::nullopt;
  } else {
    return read_number<T>(text);
  }
}

/// A value as a number for its range; enumerations and switches have none.
double magnitude(double value) { return value; }
double magnitude(std::optional<int> value) { return *value; }
double magnitude(Bytes value) { return static_cast<double>(value.value); }
double magnitude(std::optional<Bytes> value) { return magnitude(*value); }
template <NamedEnum E>
double magnitude(E) {
  return 0;
}

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

std::span<const CaseKey> case_keys() { return keys; }

const CaseKey& find_case_key(std::string_view name) {
  const auto found = std::ranges::find(keys, name, &CaseKey::name);
  if (found != keys.end()) return *found;
  std::vector<std::string> known;
  for (const CaseKey& key : keys) known.emplace_back(key.name);
  throw usage_error("case id", name, "a key of a case", nearest_hint(name, known));
}

std::string value_text(const Case& spec, const CaseKey& key) {
  return std::visit([&spec](auto member) { return print(spec.*member); }, key.member);
}

void set_value(Case& spec, const CaseKey& key, std::string_view text) {
  std::visit(
      [&](auto member) {
        using Value = std::remove_cvref_t<decltype(spec.*member)>;
        const std::optional<Value> value = read<Value>(key.name, text);
        if (!value || (key.accepts && !key.accepts(magnitude(*value)))) {
          const std::string usual = value_text(Case{}, key);
          throw usage_error(key.name, text, key.expected,
                            usual.empty() ? "" : fmt::format("try {}:{}", key.name, usual));
        }
        spec.*member = *value;
      },
      key.member);
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
