#include "suite/protocol/beat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json_reader.h"

namespace parabench::protocol {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "beat-";

nlohmann::json to_json(const Beat& beat) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const RankBeat& rank : beat.ranks) {
    ranks.push_back(
        {{"rank", rank.rank.value}, {"moves", rank.moves}, {"waits", rank.waits}, {"operation", rank.operation}});
  }
  return {{"number", beat.number}, {"host", beat.host}, {"pid", beat.pid}, {"ranks", std::move(ranks)}};
}

Beat beat_from_json(const JsonReader& reader) {
  Beat beat{reader.get<std::uint64_t>("number"), reader.get<std::string>("host"), reader.get<int>("pid"), {}};
  for (const JsonReader& rank : reader.at("ranks").items()) {
    beat.ranks.push_back({Rank(rank.get_at_least("rank", 0)), rank.get<std::uint64_t>("moves"), rank.get<bool>("waits"),
                          rank.get<std::string>("operation")});
  }
  if (beat.ranks.empty()) throw reader.at("ranks").error("at least one rank");
  return beat;
}

}  // namespace

void write_beat(const fs::path& folder, const Beat& beat) noexcept {
  try {
    const fs::path path = folder / fmt::format("{}{}.json", prefix, beat.ranks.at(0).rank.value);
    const std::string text = to_json(beat).dump() + "\n";
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return;
    if (pwrite(file, text.data(), text.size(), 0) == std::ssize(text)) {
      [[maybe_unused]] const int cut = ftruncate(file, std::ssize(text));
    }
    close(file);
  } catch (const std::exception&) {
  }
}

std::vector<Beat> read_beats(const fs::path& folder) {
  std::vector<Beat> beats;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix) || !name.ends_with(".json")) continue;
    try {
      beats.push_back(beat_from_json(JsonReader(read_json(entry.path()), name)));
    } catch (const Error&) {
    }
  }
  std::ranges::sort(beats, {}, [](const Beat& beat) { return beat.ranks.front().rank; });
  return beats;
}

}  // namespace parabench::protocol
