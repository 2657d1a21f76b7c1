// Reads JSON documents field by field; whatever does not fit is told with its place and its value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_text.h"
#include "base/error.h"
#include "base/strong.h"

namespace parabench {

/// One value of a document, which must outlive it. Copies are cheap; a place is looked for only when it is to be told.
/// Every call that does not find what it wants throws usage_error: "plan.ranks[0].in_flight: got '"x"', expected an
/// integer".
class JsonReader {
 public:
  /// The whole document. `name` begins every place (what it is, after the file that it stands in, if any); `hint` ends
  /// every error.
  JsonReader(const nlohmann::json& document, std::string name, std::string hint = "");

  /// The member `key` of this object.
  JsonReader at(std::string_view key) const;
  /// Whether this object has such a member, and not null.
  bool has(std::string_view key) const;
  /// The values of this list, in order.
  std::vector<JsonReader> items() const;
  /// The members of this object, by name.
  std::vector<std::pair<std::string, JsonReader>> members() const;

  /// This value as bool, int, std::int64_t, std::uint64_t, double, std::string, an id or an enumeration with names; as
  /// a std::vector, a std::map by name or, null being none, a std::optional of these. A number that does not fit into T
  /// is none.
  template <class T>
  T as() const {
    if constexpr (NamedEnum<T>) {
      return static_cast<T>(name_index(enum_names<T>));
    } else {
      T value{};
      read(value);
      return value;
    }
  }
  template <class T>
  T get(std::string_view key) const {
    return at(key).as<T>();
  }
  /// nullopt where has(key) is false.
  template <class T>
  std::optional<T> find(std::string_view key) const {
    return has(key) ? std::optional<T>(get<T>(key)) : std::nullopt;
  }
  /// A finite number that is not below `least`.
  template <class T>
  T get_at_least(std::string_view key, T least) const {
    const JsonReader member = at(key);
    const T value = member.as<T>();
    member.require_at_least(value, least);
    return value;
  }

  /// Refuses members of other names, the first of them by name.
  void allow_only(std::initializer_list<std::string_view> keys) const { allow_only({keys.begin(), keys.size()}); }
  void allow_only(std::span<const std::string_view> keys) const;

  /// The error of a value that is of the right type and wrong all the same.
  Error error(std::string_view expected) const;
  /// "plan.ranks[0].holds".
  std::string place() const;
  /// The value as JSON, for a reader of its own.
  const nlohmann::json& value() const { return *value_; }

 private:
  struct Document {
    const nlohmann::json* root;
    std::string name, hint;
  };
  JsonReader(std::shared_ptr<const Document> document, const nlohmann::json* value)
      : document_(std::move(document)), value_(value) {}

  void read(bool& out) const;
  void read(int& out) const;
  void read(std::int64_t& out) const;
  void read(std::uint64_t& out) const;
  void read(double& out) const;
  void read(std::string& out) const;
  template <class Tag>
  void read(StrongInt<Tag>& out) const {
    read(out.value);
  }
  template <class T>
  void read(std::vector<T>& out) const {
    for (const JsonReader& item : items()) out.push_back(item.as<T>());
  }
  template <class T>
  void read(std::map<std::string, T>& out) const {
    for (const auto& [name, member] : members()) out.emplace(name, member.template as<T>());
  }
  template <class T>
  void read(std::optional<T>& out) const {
    if (!is_null()) out = as<T>();
  }
  bool is_null() const;
  std::size_t name_index(std::span<const std::string_view> names) const;
  void require_at_least(std::int64_t value, std::int64_t least) const;
  void require_at_least(int value, int least) const { require_at_least(std::int64_t{value}, std::int64_t{least}); }
  void require_at_least(double value, double least) const;

  std::shared_ptr<const Document> document_;
  const nlohmann::json* value_;
};

}  // namespace parabench
