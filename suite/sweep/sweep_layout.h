// Where a sweep keeps its cases: DIR/<campaign>/<system>/<case folder>.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/case.h"

namespace parabench::suite {

/// "resnet18-cifar10-synthetic-gpipe-np2-" and 16 digits of the id's hash: letters, digits, '-' and '_' alone, and at
/// most 80 characters, whatever the id holds.
std::string case_folder(const Case& spec, std::string_view id);

struct IndexEntry {
  std::string folder, id;
  std::string command;  ///< repeating_command of the sweep that was written last; "" where nobody knows
};

/// A folder, an id and, where there is one, a command per line, with tabulators between them. Ids hold no blanks.
std::string index_text(const std::vector<IndexEntry>& entries);
/// Throws usage_error naming file and line for anything else.
std::vector<IndexEntry> read_index(const std::filesystem::path& path);

inline constexpr std::string_view index_name = "index.tsv", result_name = "result.json", stdout_name = "stdout",
                                  stderr_name = "stderr";

/// The folder of one campaign on one system, below what users name.
struct CampaignFolder {
  std::string campaign, system;
  std::filesystem::path path;
};
/// `dir` itself where it holds an index, else those one or two levels below it, by name. Throws usage_error where there
/// is none.
std::vector<CampaignFolder> find_campaigns(const std::filesystem::path& dir);

}  // namespace parabench::suite
