#include "results/report/escape.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace parabench::results {
namespace {

using nlohmann::json;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// UTF-8 with U+FFFD for what is none.
std::string valid_utf8(std::string_view text) {
  const std::string quoted = json_line(std::string(text));
  return json::parse(quoted).get<std::string>();
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
  std::string out;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n':
      case '\t': out += ' '; break;
      default: out += is_control(c) ? std::string("\xef\xbf\xbd") : std::string(1, c);
    }
  }
  return out;
}

std::string script_json(const json& value) {
  std::string out;
  for (const char c : value.dump(-1, ' ', true, json::error_handler_t::replace)) {
    switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  }
  return out;
}

std::string latex_text(std::string_view text) {
  std::string out;
  for (const char c : printable_ascii(text)) {
    switch (c) {
      case '\\': out += "\\textbackslash{}"; break;
      case '~': out += "\\textasciitilde{}"; break;
      case '^': out += "\\textasciicircum{}"; break;
      case '<': out += "\\textless{}"; break;
      case '>': out += "\\textgreater{}"; break;
      case '|': out += "\\textbar{}"; break;
      case '"': out += "{\\char34}"; break;
      case '\'': out += "{\\char39}"; break;
      case '`': out += "{\\char96}"; break;
      case '-': out += "-{}"; break;  // no ligature to a dash
      case '#':
      case '$':
      case '%':
      case '&':
      case '_':
      case '{':
      case '}': out += fmt::format("\\{}", c); break;
      case '[': out += "{[}"; break;  // no optional argument of what stands in front
      case ']': out += "{]}\\allowbreak{}"; break;
      case '/':
      case ',': out += fmt::format("{}\\allowbreak{{}}", c); break;
      case '*': out += "{*}"; break;
      default: out += c;
    }
  }
  return out;
}

std::string latex_comment(std::string_view text) { return printable_ascii(text); }

std::string csv_text(std::string_view text) {
  const bool like_formula = !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
  std::string cell = fmt::format("{}{}", like_formula ? "'" : "", valid_utf8(text));
  if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace parabench::results
