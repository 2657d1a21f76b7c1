#include "base/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "base/case_text.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/units_text.h"

namespace parabench {
namespace {

/// A way takes one parameter at most.
struct Row {
  CompressionKind kind;
  std::string_view parameter = "";
  double usual = 0;
  bool (*accepts)(double) = nullptr;
  std::string_view expected = "";
  void (*set)(Compression& to, double value) = nullptr;
};

constexpr double most_columns = 1 << 20;

bool is_rank(double x) { return x >= 1 && x <= most_columns && std::floor(x) == x; }
bool is_share(double x) { return x > 0 && x <= 1; }

constexpr std::array rows{
    Row{.kind = CompressionKind::none},
    Row{.kind = CompressionKind::bf16},
    Row{CompressionKind::powersgd, "rank", 4, is_rank, "an integer from 1 to 1048576",
        [](Compression& to, double value) { to.rank = static_cast<int>(value); }},
    Row{CompressionKind::topk, "ratio", 0.01, is_share, "a number > 0 and <= 1, the share of the values that are sent",
        [](Compression& to, double value) { to.ratio = value; }},
};

const Row& row_of(const NamedChoice& choice) {
  return *std::ranges::find(rows, parse_enum<CompressionKind>("compress", choice.name), &Row::kind);
}

/// Of the row's parameter.
double value_of(const Row& row, const NamedChoice& choice) {
  const std::span known(&row.parameter, row.parameter.empty() ? 0 : 1);
  double value = row.usual;
  for (const auto& [name, text] : choice.parameters) {
    index_of_parameter("compress:" + choice.name, name, known);
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || !row.accepts(value))
      throw usage_error(fmt::format("{} of compress:{}", name, choice.name), text, row.expected,
                        fmt::format("try {}={}", name, print_number(row.usual)));
  }
  return value;
}

}  // namespace

std::int64_t Compression::kept(std::int64_t values) const {
  // A share such as 0.01 is not exactly that: 100 values are to keep one, not two.
  const double exact = ratio * static_cast<double>(values);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(exact * (1 - 1e-12))), 1, values);
}

Compression compression(const Case& spec) {
  const Row& row = row_of(spec.compress);
  Compression result{.kind = row.kind};
  const double value = value_of(row, spec.compress);
  if (row.set) row.set(result, value);
  return result;
}

NamedChoice canonical_compression(const NamedChoice& choice) {
  const Row& row = row_of(choice);
  const double value = value_of(row, choice);
  NamedChoice canonical{choice.name, {}};
  if (value != row.usual) canonical.parameters.emplace_back(row.parameter, print_number(value));
  return canonical;
}

std::string compressions_text() {
  std::string text;
  for (const Row& row : rows) {
    NamedChoice usual{std::string(to_text(row.kind)), {}};
    if (!row.parameter.empty()) usual.parameters.emplace_back(row.parameter, print_number(row.usual));
    text += (text.empty() ? "" : ", ") + to_text(usual);
  }
  return text;
}

}  // namespace parabench
