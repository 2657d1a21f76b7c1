// What suite/peer/*.py and cmake/dependencies.env held when this program was built.
#pragma once

#include <span>
#include <string_view>

namespace parabench::suite {

struct PeerFile {
  std::string_view name, text;
};
extern const std::span<const PeerFile> peer_files;

/// "name==version" of everything that is pinned, separated by blanks.
extern const std::string_view peer_wheels;
/// The folder that ./parabench peers makes, beside the pinned wheels.
extern const std::string_view usual_peer_environment;

}  // namespace parabench::suite
