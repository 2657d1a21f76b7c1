#include "base/units_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "base/error.h"

namespace parabench {
namespace {

struct ByteScale {
  std::string_view name;
  std::int64_t bytes;
};
// Largest first.
constexpr std::array<ByteScale, 4> binary_scales{
    {{"TiB", 1LL << 40}, {"GiB", 1LL << 30}, {"MiB", 1LL << 20}, {"KiB", 1LL << 10}}};
constexpr std::array<ByteScale, 4> decimal_scales{
    {{"TB", 1000000000000}, {"GB", 1000000000}, {"MB", 1000000}, {"kB", 1000}}};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::optional<std::int64_t> byte_scale(std::string_view unit) {
  if (unit.empty() || equal_ignoring_case(unit, "B")) return 1;
  for (std::span<const ByteScale> scales : {std::span(binary_scales), std::span(decimal_scales)}) {
    for (const ByteScale& scale : scales) {
      if (equal_ignoring_case(unit, scale.name)) return scale.bytes;
    }
  }
  return std::nullopt;
}

/// Seconds as a ratio, so that both "500us" and "2h" are rounded once.
struct TimeScale {
  std::string_view name;
  double times, divided_by;
};
constexpr std::array<TimeScale, 7> time_scales{
    {{"", 1, 1}, {"s", 1, 1}, {"ms", 1, 1e3}, {"us", 1, 1e6}, {"ns", 1, 1e9}, {"min", 60, 1}, {"h", 3600, 1}}};

struct RateScale {
  std::string_view name;
  double bits_per_s;
};
// Largest first.
constexpr std::array<RateScale, 4> rate_scales{{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}};

/// Splits "1.5GB" into 1.5 and "GB"; nullopt unless it starts with a finite number >= 0.
struct Measured {
  double number;
  std::string_view digits, unit;
};
std::optional<Measured> split_unit(std::string_view text) {
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text.front()))) return std::nullopt;
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || !std::isfinite(number)) return std::nullopt;
  const auto length = static_cast<std::size_t>(end - text.data());
  std::string_view unit = text.substr(length);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return Measured{number, text.substr(0, length), unit};
}

/// Three significant digits: 1.23, 12.3, 123; four before the next unit.
std::string three_digits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

Bytes parse_bytes(std::string_view subject, std::string_view text) {
  const auto refuse = [&] { return usage_error(subject, text, "a size in bytes", "try 25MiB, 1.5GB or 4096"); };
  const auto parts = split_unit(text);
  const auto scale = parts ? byte_scale(parts->unit) : std::nullopt;
  if (!scale) throw refuse();
  std::int64_t whole = 0;
  const char* const digits_end = parts->digits.data() + parts->digits.size();
  const auto [end, code] = std::from_chars(parts->digits.data(), digits_end, whole);
  if (code == std::errc{} && end == digits_end) {
    // Whole numbers stay exact beyond the 53 bits of a double.
    if (__builtin_mul_overflow(whole, *scale, &whole)) throw refuse();
    return Bytes(whole);
  }
  const double bytes = std::round(parts->number * static_cast<double>(*scale));
  if (bytes >= 0x1p63) throw refuse();
  return Bytes(static_cast<std::int64_t>(bytes));
}

Seconds parse_seconds(std::string_view subject, std::string_view text) {
  if (const auto parts = split_unit(text)) {
    for (const TimeScale& scale : time_scales) {
      if (parts->unit == scale.name) return Seconds(parts->number * scale.times / scale.divided_by);
    }
  }
  throw usage_error(subject, text, "a time", "try 500us, 20ms, 2s or 10min");
}

double parse_rate(std::string_view subject, std::string_view text) {
  if (auto parts = split_unit(text)) {
    const bool per_second = parts->unit.ends_with("/s");
    if (per_second) parts->unit.remove_suffix(2);
    for (const RateScale& scale : rate_scales)
      if (equal_ignoring_case(parts->unit, scale.name)) return parts->number * scale.bits_per_s / 8;
    const auto bytes = per_second && !parts->unit.empty() ? byte_scale(parts->unit) : std::nullopt;
    if (bytes) return parts->number * static_cast<double>(*bytes);
  }
  throw usage_error(subject, text, "a rate in bits per second, or in bytes with /s",
                    "try 1Gbit, 100Mbit, 2.5Gbit/s or 50GB/s");
}

std::string print_rate(double bytes_per_s) {
  const double bits_per_s = 8 * bytes_per_s;
  const auto fits = [&](const RateScale& scale) { return bits_per_s >= scale.bits_per_s || scale.bits_per_s == 1; };
  const RateScale& scale = *std::ranges::find_if(rate_scales, fits);
  return print_number(bits_per_s / scale.bits_per_s) + std::string(scale.name);
}

double parse_share(std::string_view subject, std::string_view text) {
  const auto parts = split_unit(text);
  if (!parts || (!parts->unit.empty() && parts->unit != "%"))
    throw usage_error(subject, text, "a share that is not below 0", "try 5% or 0.05");
  return parts->unit.empty() ? parts->number : parts->number / 100;
}

std::string print_bytes(Bytes bytes) {
  ByteScale best{"", 1};
  for (std::span<const ByteScale> scales : {std::span(binary_scales), std::span(decimal_scales)}) {
    const auto divides = [&](const ByteScale& scale) { return bytes.value != 0 && bytes.value % scale.bytes == 0; };
    const auto found = std::ranges::find_if(scales, divides);
    const auto digits = [&](const ByteScale& scale) { return std::to_string(bytes.value / scale.bytes).size(); };
    if (found != scales.end() && (best.bytes == 1 || digits(*found) < digits(best))) best = *found;
  }
  return fmt::format("{}{}", bytes.value / best.bytes, best.name);
}

std::string print_number(double value) { return fmt::format("{}", value); }

std::string print_seconds(Seconds time) {
  std::string best = print_number(time.value) + "s";
  for (const TimeScale& scale : time_scales) {
    if (scale.divided_by == 1) continue;
    const std::string text = print_number(time.value * scale.divided_by) + std::string(scale.name);
    if (text.size() < best.size() && parse_seconds("time", text) == time) best = text;
  }
  return best;
}

std::string human_bytes(double bytes) {
  const double size = std::abs(bytes);
  const std::string_view sign = bytes < 0 ? "-" : "";
  // From 999.5 on, three digits would round up to 1000.
  for (const ByteScale& scale : binary_scales) {
    const auto unit = static_cast<double>(scale.bytes);
    if (size >= unit * 0.9765625 * 0.9995) return fmt::format("{}{} {}", sign, three_digits(size / unit), scale.name);
  }
  return fmt::format("{}{:.0f} B", sign, size);
}

std::string human_seconds(double seconds) {
  const double size = std::abs(seconds);
  const std::string_view sign = seconds < 0 ? "-" : "";
  if (size == 0) return "0 s";
  if (size >= 0.9995) return fmt::format("{}{} s", sign, three_digits(size));
  if (size >= 0.9995e-3) return fmt::format("{}{} ms", sign, three_digits(size * 1e3));
  if (size >= 0.9995e-6) return fmt::format("{}{} us", sign, three_digits(size * 1e6));
  return fmt::format("{}{} ns", sign, three_digits(size * 1e9));
}

std::string human_share(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace parabench
