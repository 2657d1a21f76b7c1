#include "suite/machine/listing_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <exception>
#include <nlohmann/json.hpp>

#include "analytic/calibration/machine_json.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "parabench_version.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json to_json(const Listed& line) {
  if (!line.forecast) return {line.model_parameters, line.impossible};
  const ListedForecast& forecast = *line.forecast;
  return {line.model_parameters, forecast.step_time_s, forecast.rank_bytes, forecast.all_bytes, forecast.cost_source};
}

Listed from_json(const json& row) {
  Listed line{.model_parameters = row.at(0)};
  if (row.size() == 2) {
    line.impossible = row.at(1);
  } else {
    line.forecast = ListedForecast{row.at(1), row.at(2), row.at(3), row.at(4)};
  }
  return line;
}

/// The first line of the file: a body that is not the one it was written with is damaged.
std::string heading(const std::string& key, std::string_view body) {
  return fmt::format("parabench list {} {}\n", key, hex16(fnv1a64(body)));
}

std::string file_stamp(const fs::path& path) {
  struct stat info {};
  stat(path.c_str(), &info);
  return fmt::format("{} {}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

}  // namespace

fs::path listing_path(const analytic::MachineInfo& machine) {
  return fs::path(analytic::default_calibration_path(machine)).parent_path() / fmt::format("list-{}", machine.id);
}

std::string listing_key(const analytic::MachineInfo& machine, const CalibrationFile& calibration) {
  const std::string measured = calibration.content ? read_text(calibration.path) : "";
  const std::string build = fmt::format("{} {} {}", program_version, program_git_hash, file_stamp("/proc/self/exe"));
  return hex16(fnv1a64(fmt::format("{}\n{}\n{}", build, analytic::to_json(machine).dump(), measured)));
}

ListedById read_listing(const fs::path& path, const std::string& key) {
  ListedById lines;
  try {
    const std::string text = read_text(path);
    const std::size_t body = text.find('\n') + 1;
    if (text.substr(0, body) != heading(key, std::string_view(text).substr(body))) return {};
    const json rows = json::parse(text.begin() + static_cast<std::ptrdiff_t>(body), text.end());
    for (const auto& [id, row] : rows.items()) lines.emplace(id, from_json(row));
  } catch (const std::exception&) {
    return {};
  }
  return lines;
}

void keep_listing(const fs::path& path, const std::string& key, const ListedById& lines) {
  try {
    json rows = json::object();
    for (const auto& [id, line] : lines) rows[id] = to_json(line);
    const std::string body = rows.dump() + '\n';
    fs::create_directories(path.parent_path());
    write_atomically(path, heading(key, body) + body);
  } catch (const std::exception&) {
  }
}

}  // namespace parabench::suite
