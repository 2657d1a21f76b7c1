// Text of results files inside other languages: what is input stays text there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace parabench::results {

/// For HTML text and attributes in double quotes. Bytes that are not UTF-8 and control characters become U+FFFD.
std::string html_text(std::string_view text);

/// For a <script type="application/json"> element: ASCII alone, and neither '<', '>' nor '&'.
std::string script_json(const nlohmann::json& value);

/// For LaTeX's text mode: its special characters by name, and a place for a line break behind '/', ',' and ']'. What is
/// not ASCII becomes '?', since not every engine and font has it.
std::string latex_text(std::string_view text);
/// For the rest of a LaTeX line behind '%': one line, ASCII.
std::string latex_comment(std::string_view text);

/// A code span for a cell of a table in Markdown, in which '|' and '`' cannot stand: they become '?', as does what is
/// no ASCII.
std::string markdown_code(std::string_view text);

/// A cell of CSV (RFC 4180): quoted where it must be. A text that a spreadsheet would take for a formula (it begins
/// with '=', '+', '-', '@', a tab, a carriage return or a line feed) gets an apostrophe in front.
std::string csv_text(std::string_view text);
/// The same of a JSON value that is no array and no object: nothing for null and for numbers that are not finite.
std::string csv_cell(const nlohmann::json& value);

}  // namespace parabench::results
