// Enumerations as text: one list of names per enumeration serves printing, parsing, JSON and error messages.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace parabench {

/// An enumeration with `constexpr std::array<std::string_view, N> names_of(E)` beside it: its names in the order of
/// declaration.
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  names_of(E{});
};

/// Whether an enumeration declares such a value. Compilers write one that it does as its name, any other as a cast
/// number.
template <auto value>
constexpr bool is_declared() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr char after_cast = text[text.rfind(')') + 1];
  return after_cast < '0' || after_cast > '9';
}

template <NamedEnum E>
inline constexpr auto enum_names = [] {
  constexpr auto names = names_of(E{});
  static_assert(is_declared<static_cast<E>(names.size() - 1)>() && !is_declared<static_cast<E>(names.size())>() &&
                    !names.back().empty(),
                "a name for each value, and no more");
  return names;
}();

/// All values of an enumeration, in the order of declaration.
template <NamedEnum E>
inline constexpr auto enum_values = [] {
  std::array<E, enum_names<E>.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<E>(i);
  return values;
}();

template <NamedEnum E>
constexpr std::string_view to_text(E value) {
  return enum_names<E>[static_cast<std::size_t>(value)];
}

template <NamedEnum E>
std::vector<std::string_view> to_texts(const std::vector<E>& values) {
  std::vector<std::string_view> texts;
  for (const E value : values) texts.push_back(to_text(value));
  return texts;
}

/// Position of `text` in `names`. Throws usage_error naming `subject` with the nearest spelling.
std::size_t index_of_name(std::string_view subject, std::string_view text, std::span<const std::string_view> names);

template <NamedEnum E>
E parse_enum(std::string_view subject, std::string_view text) {
  return static_cast<E>(index_of_name(subject, text, enum_names<E>));
}

}  // namespace parabench
