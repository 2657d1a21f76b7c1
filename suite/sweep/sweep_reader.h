// What the parts of a sweep file have in common: values as text, and errors with their place.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_reader.h"

namespace parabench::suite {

/// A text, number or switch as ids and options write it: "64", "0.5", "on". Throws usage_error for anything else, and
/// for control characters, which no line of a script holds.
std::string text_of(const JsonReader& value);
/// A list of such, or a single one.
std::vector<JsonReader> items_of(const JsonReader& value);
std::vector<std::string> texts_of(const JsonReader& value);

/// Refuses members of other names, with the nearest of them.
void require_known(const JsonReader& object, std::span<const std::string_view> keys);

/// read(), whose error then names the place of `value` as well.
template <class Read>
auto at_place(const JsonReader& value, std::string_view expected, Read&& read) {
  try {
    return std::forward<Read>(read)();
  } catch (const Error& error) {
    throw usage_error(value.place(), text_of(value), expected, error.what());
  }
}

}  // namespace parabench::suite
