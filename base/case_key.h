// The keys of a case: one declaration each, from which reading, printing, JSON, comparisons and help are derived.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/case.h"
#include "base/enum_text.h"

namespace parabench {

enum class KeyType { integer, number, size, on_off, choice, named_choice };
constexpr std::array<std::string_view, 6> names_of(KeyType) {
  return {"integer", "number", "size", "switch", "choice", "choice with parameters"};
}

/// What a key's declaration says.
struct KeyDeclaration {
  std::string_view name;
  std::optional<int> least = {};      ///< of an integer whose range ends where its type does
  bool (*accepts)(double) = nullptr;  ///< another range of a number; null: any value of the type
  std::string_view expected = {};     ///< that range for people: "a number > 0"
  std::string_view none = {};         ///< of a key that may have no value: how this may be written
  std::string_view help;              ///< one line
  std::string_view readers = {};      ///< whose cases it changes; empty: those of the strategies whose rows name it
  std::string_view since = "1.0";     ///< first version of the results' schema that has it; older files may lack it
  bool required = false;              ///< has no default: every id names it
  void (*follow)(Case& usual, const Case& spec) = nullptr;  ///< sets a default that follows from other keys of `spec`
  // Of a choice with parameters: its names, all of it for people, and the canonical form, which throws usage_error.
  std::span<const std::string_view> names = {};
  std::string (*all)() = nullptr;
  NamedChoice (*canonical)(const NamedChoice& choice) = nullptr;
};

/// The declaration, and what follows from the type of the key's member in Case.
struct CaseKey : KeyDeclaration {
  KeyType type = KeyType::integer;
  std::uint64_t most = 0;                          ///< of an integer: the end of its type
  bool optional = false;                           ///< may have no value, its text then being ""
  std::span<const std::string_view> choices = {};  ///< texts of a choice or switch
  std::string (*print)(const Case& spec) = nullptr;
  bool (*read)(Case& spec, const CaseKey& key, std::string_view text) = nullptr;  ///< false: no value of the range
  std::partial_ordering (*compare)(const Case& a, const Case& b) = nullptr;

  bool is_ordered() const { return type < KeyType::on_off; }
  /// Whether only the strategies whose rows name the key read it.
  bool is_of_strategies() const { return readers.empty(); }
};

/// All keys in the fixed order of the canonical id.
std::span<const CaseKey> case_keys();
/// Throws usage_error with the nearest key.
const CaseKey& find_case_key(std::string_view name);

/// The text of a key's value: "25MiB", "except-last", "on"; "" where none is given (warmup, memory).
std::string value_text(const Case& spec, const CaseKey& key);
/// Sets a key from text. Throws usage_error with value, expectation and the default to try.
void set_value(Case& spec, const CaseKey& key, std::string_view text);

/// The text of the key's default beside the other keys of `spec`; "" for none.
std::string default_text(const CaseKey& key, const Case& spec = {});
/// What the key accepts, for people: its range, or its choices.
std::string accepted_text(const CaseKey& key);

}  // namespace parabench
