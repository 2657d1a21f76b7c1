#include "analytic/validation/read_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "analytic/validation/fact_columns.h"
#include "analytic/validation/fact_models.h"
#include "base/blanks.h"
#include "base/error.h"

namespace parabench::analytic {
namespace {

constexpr std::string_view blanks = " \t\r";

/// A column that is no part of the configuration.
struct FieldColumn {
  std::string_view name;
  bool required;
  void (*read)(Fact& fact, std::string_view subject, std::string_view text);
};

double above_minus_one(std::string_view subject, std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value <= -1)
    throw usage_error(subject, text, "a number above -1, such as -0.25 for a quarter too little");
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin), blanks));
    begin = end + 1;
  }
  return parts;
}

void read_models(Fact& fact, std::string_view subject, std::string_view text) {
  for (const std::string_view name : split(text, ' ')) {
    if (name.empty()) continue;
    const std::string model(find_fact_model(subject, name).name);
    if (std::ranges::find(fact.models, model) != fact.models.end()) throw usage_error(subject, text, "each model once");
    fact.models.push_back(model);
  }
}

using Text = std::string_view;
constexpr std::array fields = {
    FieldColumn{"source", true, [](Fact& f, Text, Text text) { f.source = text; }},
    FieldColumn{"row", true, [](Fact& f, Text, Text text) { f.row = text; }},
    FieldColumn{"models", true, read_models},
    FieldColumn{"quantity", true, [](Fact& f, Text s, Text text) { f.quantity = parse_enum<Quantity>(s, text); }},
    FieldColumn{"value", true, [](Fact& f, Text s, Text text) { f.value = positive_number(s, text); }},
    FieldColumn{"use", true, [](Fact& f, Text s, Text text) { f.use = parse_enum<Use>(s, text); }},
    FieldColumn{"uncertainty", false, [](Fact& f, Text s, Text text) { f.uncertainty = positive_number(s, text); }},
    FieldColumn{"quality", false, [](Fact& f, Text s, Text text) { f.quality = parse_enum<Quality>(s, text); }},
    FieldColumn{"source_error", false, [](Fact& f, Text s, Text text) { f.source_error = above_minus_one(s, text); }},
};

std::vector<std::string_view> column_names() {
  std::vector<std::string_view> names;
  for (const FieldColumn& field : fields) names.push_back(field.name);
  for (const FactColumn& column : fact_columns()) names.push_back(column.name);
  return names;
}

/// Of each column of the file its place among column_names().
std::vector<std::size_t> read_header(std::string_view line, const std::string& place) {
  static const std::vector<std::string_view> names = column_names();
  std::vector<std::size_t> columns;
  for (const std::string_view word : split(line, ',')) {
    columns.push_back(index_of_name(place + ": column", word, names));
    if (std::ranges::count(columns, columns.back()) > 1)
      throw usage_error(place + ": column", word, "it once", "leave one of them out");
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].required && std::ranges::find(columns, i) == columns.end())
      throw usage_error(place + ": header", line, fmt::format("a column {}", fields[i].name));
  }
  return columns;
}

void require_what_models_need(const Fact& fact) {
  for (const std::string& name : fact.models) {
    const FactModel& model = find_fact_model(fact.place, name);
    if (std::ranges::find(model.quantities, fact.quantity) == model.quantities.end())
      throw usage_error(fact.place + ": quantity", to_text(fact.quantity),
                        fmt::format("one that {} predicts: {}", name, fmt::join(to_texts(model.quantities), ", ")),
                        "name another model, or another quantity");
    std::vector<std::string_view> missing;
    for (const FactColumn& column : fact_columns()) {
      const bool needed = std::ranges::find(model.needs, column.name) != model.needs.end() ||
                          (fact.quantity == Quantity::seconds_per_epoch && column.name == "samples");
      if (needed && !column.given(fact.configuration)) missing.push_back(column.name);
    }
    if (!missing.empty())
      throw usage_error(fmt::format("{}: {}", fact.place, fmt::join(missing, ", ")), "",
                        fmt::format("what {} needs", name), "each is a column of the header with a value in this row");
  }
}

Fact read_row(std::string_view line, const std::vector<std::size_t>& columns, const std::string& place) {
  const auto texts = split(line, ',');
  if (texts.size() != columns.size())
    throw usage_error(place, fmt::format("{} fields", texts.size()),
                      fmt::format("{}, as the header has", columns.size()), "fields hold no commas");
  Fact fact;
  fact.place = place;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool is_field = columns[i] < fields.size();
    const std::string_view name = is_field ? fields[columns[i]].name : fact_columns()[columns[i] - fields.size()].name;
    const std::string subject = fmt::format("{}: {}", place, name);
    if (texts[i].empty()) {
      if (is_field && fields[columns[i]].required) throw usage_error(subject, "", "a value");
      continue;
    }
    if (is_field) {
      fields[columns[i]].read(fact, subject, texts[i]);
    } else {
      fact_columns()[columns[i] - fields.size()].read(fact.configuration, subject, texts[i]);
    }
  }
  require_what_models_need(fact);
  return fact;
}

}  // namespace

std::vector<Fact> read_facts(std::string_view text, const std::string& name) {
  std::vector<Fact> facts;
  std::vector<std::size_t> columns;
  std::set<std::pair<std::string, std::string>> seen;
  int number = 0;
  // Spreadsheets put it before what they write in UTF-8.
  if (constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF"; text.starts_with(byte_order_mark))
    text.remove_prefix(byte_order_mark.size());
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    const std::string place = fmt::format("{}:{}", name, number);
    if (columns.empty()) {
      columns = read_header(line, place);
      continue;
    }
    facts.push_back(read_row(line, columns, place));
    if (!seen.emplace(facts.back().source, facts.back().row).second)
      throw usage_error(place + ": row", facts.back().row,
                        fmt::format("one row of this name of {}", facts.back().source));
  }
  if (columns.empty()) throw usage_error(name, "no header", "a line that names the columns");
  if (std::ranges::none_of(facts, [](const Fact& fact) { return fact.use == Use::test; }))
    throw usage_error(name, "no row for a test", "at least one row whose use is test");
  return facts;
}

}  // namespace parabench::analytic
