// Signs of life: every process of a launch tells every other second where its ranks are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/strong.h"

namespace parabench::protocol {

inline constexpr double beat_period_s = 2;

struct RankBeat {
  Rank rank;
  std::uint64_t moves = 0;  ///< grows with every operation that ends
  bool waits = false;       ///< its computing thread waits for messages or collectives
  std::string operation;    ///< that it has come to, "step 3 1RECV_F2"; "" while it runs no plan
  bool operator==(const RankBeat&) const = default;
};

struct Beat {
  std::uint64_t number = 0;  ///< grows with every beat of the process
  std::string host;
  int pid = 0;
  std::vector<RankBeat> ranks;  ///< of the process; not empty
  bool operator==(const Beat&) const = default;
};

/// FOLDER/beat-<first rank>.json, written over in place: where hosts share the folder over a network, a file that is
/// replaced may be seen late, and one that is opened anew is not. Never throws: a launch does not end for its beat.
void write_beat(const std::filesystem::path& folder, const Beat& beat) noexcept;

/// Those that can be read now; one that is being written may be missing. In order of their first ranks.
std::vector<Beat> read_beats(const std::filesystem::path& folder);

}  // namespace parabench::protocol
