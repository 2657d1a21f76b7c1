// The files of plots/, embedded when the program is built.
#pragma once

#include <string_view>

namespace parabench::results {

extern const std::string_view page_html, page_style, page_script;
/// SHA-256 of the two in base64, by which the page's content security policy knows them.
extern const std::string_view page_style_hash, page_script_hash;
/// plots/figures.py.
extern const std::string_view figures_script;

}  // namespace parabench::results
