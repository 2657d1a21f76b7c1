// The files of plots/, embedded when the program is built.
#pragma once

#include <span>
#include <string_view>

namespace parabench::results {

extern const std::string_view page_html, page_style, page_script;
/// SHA-256 of the two in base64, by which the page's content security policy knows them.
extern const std::string_view page_style_hash, page_script_hash;
/// The files of plots/figures, a folder that Python runs.
struct EmbeddedFile {
  std::string_view name, text;
};
extern const std::span<const EmbeddedFile> figures_program;

}  // namespace parabench::results
