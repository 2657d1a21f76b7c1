#include "results/report/escape.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/units_text.h"

namespace parabench::results {
namespace {

using nlohmann::json;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// UTF-8 with U+FFFD for what is none.
std::string valid_utf8(std::string_view text) {
  const std::string quoted = json_line(std::string(text));
  return json::parse(quoted).get<std::string>();
}

/// What `write` makes of every byte.
template <class Write>
std::string each(std::string_view text, Write write) {
  std::string out;
  for (const char c : text) out += write(c);
  return out;
}

/// One '?' for each character that is not printable ASCII.
std::string printable_ascii(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (continues) continue;
    const bool printable = !is_control(c) && static_cast<unsigned char>(c) < 0x80;
    out += printable ? c : (c == '\n' || c == '\t' ? ' ' : '?');
  }
  return out;
}

}  // namespace

std::string html_text(std::string_view text) {
  return each(valid_utf8(text), [](char c) -> std::string {
    switch (c) {
      case '&': return "&amp;";
      case '<': return "&lt;";
      case '>': return "&gt;";
      case '"': return "&quot;";
      case '\'': return "&#39;";
      case '\n':
      case '\t': return " ";
      default: return is_control(c) ? "\xef\xbf\xbd" : std::string(1, c);
    }
  });
}

std::string script_json(const json& value) {
  return each(value.dump(-1, ' ', true, json::error_handler_t::replace), [](char c) -> std::string {
    switch (c) {
      case '<': return "\\u003c";
      case '>': return "\\u003e";
      case '&': return "\\u0026";
      default: return std::string(1, c);
    }
  });
}

std::string latex_text(std::string_view text) {
  return each(printable_ascii(text), [](char c) -> std::string {
    switch (c) {
      case '\\': return "\\textbackslash{}";
      case '~': return "\\textasciitilde{}";
      case '^': return "\\textasciicircum{}";
      case '<': return "\\textless{}";
      case '>': return "\\textgreater{}";
      case '|': return "\\textbar{}";
      case '"': return "{\\char34}";
      case '\'': return "{\\char39}";
      case '`': return "{\\char96}";
      case '-': return "-{}";  // no ligature to a dash
      case '#':
      case '$':
      case '%':
      case '&':
      case '_':
      case '{':
      case '}': return fmt::format("\\{}", c);
      case '[': return "{[}";  // no optional argument of what stands in front
      case ']': return "{]}\\allowbreak{}";
      case '/':
      case ',': return fmt::format("{}\\allowbreak{{}}", c);
      case '*': return "{*}";
      default: return std::string(1, c);
    }
  });
}

std::string latex_comment(std::string_view text) { return printable_ascii(text); }

std::string markdown_code(std::string_view text) {
  return fmt::format("`{}`", each(printable_ascii(text), [](char c) { return c == '|' || c == '`' ? '?' : c; }));
}

std::string csv_text(std::string_view text) {
  const bool like_formula =
      !text.empty() && std::string_view("=+-@\t\r\n").find(text.front()) != std::string_view::npos;
  std::string cell = fmt::format("{}{}", like_formula ? "'" : "", valid_utf8(text));
  if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
  return '"' + each(cell, [](char c) { return c == '"' ? std::string("\"\"") : std::string(1, c); }) + '"';
}

std::string csv_cell(const json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_text(value.get<std::string>());
  if (!value.is_number_float()) return value.dump();
  const auto number = value.get<double>();
  return std::isfinite(number) ? print_number(number) : "";
}

}  // namespace parabench::results
