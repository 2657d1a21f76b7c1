#include "suite/sweep/sweep_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/called.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

bool holds_index(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / index_name, ignored);
}

/// Real folders below, by name: the link to the latest one would show it twice.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

CampaignFolder campaign_of(const fs::path& folder) {
  const fs::path whole = fs::canonical(folder);
  return {whole.parent_path().filename(), whole.filename(), folder};
}

}  // namespace

std::string case_folder(const Case& spec, std::string_view id) {
  std::string stem = fmt::format("{}-{}-{}-np{}", spec.model.name, spec.dataset.name, spec.strategy.name, spec.np);
  for (char& c : stem)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '_';
  return stem.substr(0, 60) + "-" + hex16(fnv1a64(id));
}

std::string index_text(const std::vector<IndexEntry>& entries) {
  std::string text;
  for (const IndexEntry& entry : entries) {
    text += fmt::format("{}\t{}", entry.folder, entry.id);
    if (!entry.command.empty()) text += "\t" + entry.command;
    text += '\n';
  }
  return text;
}

std::vector<IndexEntry> read_index(const fs::path& path) {
  const std::string text = read_text(path);
  std::vector<IndexEntry> entries;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    const std::size_t tab = line.find('\t'), second = std::min(line.find('\t', tab + 1), line.size());
    if (tab == std::string::npos || tab == 0 || tab + 1 == second || line.find('/') < tab || line[0] == '.') {
      throw usage_error(fmt::format("{}: line {}", path.string(), entries.size() + 1), line,
                        "a case's folder, its id and its command, with tabulators between them",
                        "remove the file, and " + to_type("sweep writes it anew"));
    }
    entries.push_back({line.substr(0, tab), line.substr(tab + 1, second - tab - 1),
                       second == line.size() ? "" : line.substr(second + 1)});
    begin = end + 1;
  }
  return entries;
}

std::vector<CampaignFolder> find_campaigns(const fs::path& dir) {
  if (holds_index(dir)) return {campaign_of(dir)};
  std::vector<CampaignFolder> found;
  for (const fs::path& folder : folders_in(dir)) {
    if (holds_index(folder)) found.push_back(campaign_of(folder));
    for (const fs::path& below : folders_in(folder))
      if (holds_index(below)) found.push_back(campaign_of(below));
  }
  if (found.empty()) {
    throw usage_error("DIR", dir.string(), fmt::format("the folder of a sweep, which holds {}", index_name),
                      to_type("sweep FILE --out DIR makes one"));
  }
  return found;
}

}  // namespace parabench::suite
