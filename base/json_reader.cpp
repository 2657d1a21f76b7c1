#include "base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace parabench {
namespace {

using nlohmann::json;

/// Appends to `path` the way from `from` to `wanted`; false where that lies elsewhere.
bool find_path(const json& from, const json* wanted, std::string& path) {
  if (&from == wanted) return true;
  const std::size_t length = path.size();
  std::size_t index = 0;
  for (auto item = from.begin(); from.is_structured() && item != from.end(); ++item, ++index) {
    path += from.is_object() ? "." + item.key() : fmt::format("[{}]", index);
    if (find_path(*item, wanted, path)) return true;
    path.resize(length);
  }
  return false;
}

std::string shown(const json& value) {
  constexpr std::size_t most = 80;
  std::string text = json_line(value);
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text;
}

}  // namespace

JsonReader::JsonReader(const json& document, std::string name, std::string hint)
    : document_(std::make_shared<Document>(Document{&document, std::move(name), std::move(hint)})), value_(&document) {}

std::string JsonReader::place() const {
  std::string path = document_->name;
  find_path(*document_->root, value_, path);
  return path;
}

Error JsonReader::error(std::string_view expected) const {
  return usage_error(place(), shown(*value_), expected, document_->hint);
}

JsonReader JsonReader::at(std::string_view key) const {
  if (!value_->is_object()) throw error("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) {
    throw usage_error(fmt::format("{}.{}", place(), key), "missing", "this field", document_->hint);
  }
  return {document_, &*found};
}

bool JsonReader::has(std::string_view key) const {
  if (!value_->is_object()) throw error("an object");
  const auto found = value_->find(key);
  return found != value_->end() && !found->is_null();
}

std::vector<JsonReader> JsonReader::items() const {
  if (!value_->is_array()) throw error("a list");
  std::vector<JsonReader> items;
  items.reserve(value_->size());
  for (const json& item : *value_) items.push_back({document_, &item});
  return items;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  if (!value_->is_object()) throw error("an object");
  std::vector<std::pair<std::string, JsonReader>> members;
  for (const auto& item : value_->items()) members.emplace_back(item.key(), JsonReader(document_, &item.value()));
  return members;
}

void JsonReader::read(bool& out) const {
  if (!value_->is_boolean()) throw error("true or false");
  out = value_->get<bool>();
}

void JsonReader::read(std::int64_t& out) const {
  const bool fits = value_->is_number_integer() &&
                    (!value_->is_number_unsigned() ||
                     value_->get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (!fits) throw error("an integer");
  out = value_->get<std::int64_t>();
}

void JsonReader::read(int& out) const {
  std::int64_t wide = 0;
  read(wide);
  out = static_cast<int>(wide);
  if (out != wide) throw error("an integer of 32 bits");
}

void JsonReader::read(std::uint64_t& out) const {
  if (!value_->is_number_integer() || (!value_->is_number_unsigned() && value_->get<std::int64_t>() < 0)) {
    throw error("an integer >= 0");
  }
  out = value_->get<std::uint64_t>();
}

void JsonReader::read(double& out) const {
  if (!value_->is_number()) throw error("a number");
  out = value_->get<double>();
}

void JsonReader::read(std::string& out) const {
  if (!value_->is_string()) throw error("a text");
  out = value_->get<std::string>();
}

bool JsonReader::is_null() const { return value_->is_null(); }

std::size_t JsonReader::name_index(std::span<const std::string_view> names) const {
  const auto text = as<std::string>();
  const auto found = std::ranges::find(names, text);
  return found != names.end() ? static_cast<std::size_t>(found - names.begin()) : index_of_name(place(), text, names);
}

void JsonReader::require_at_least(std::int64_t value, std::int64_t least) const {
  if (value < least) throw error(fmt::format("an integer >= {}", least));
}

void JsonReader::require_at_least(double value, double least) const {
  if (!std::isfinite(value) || value < least) throw error(fmt::format("a finite number >= {}", least));
}

void JsonReader::allow_only(std::span<const std::string_view> keys) const {
  if (!value_->is_object()) throw error("an object");
  for (const auto& item : value_->items()) {
    if (std::ranges::find(keys, item.key()) != keys.end()) continue;
    throw usage_error(place(), item.key(), "no field of this name", document_->hint);
  }
}

}  // namespace parabench
