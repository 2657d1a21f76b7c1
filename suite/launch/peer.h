// Other products beside ours: the Python that has them, and how one is launched (suite/peer).
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "suite/launch/signals.h"

namespace parabench::suite {

/// One launch of a product, by the program of suite/peer.
struct PeerLaunch {
  std::string product;
  std::filesystem::path program;  ///< folder that write_peer_program() filled
  std::filesystem::path work;     ///< folder that the phase hand_over filled
};

/// The folder of the Python environment: PARABENCH_PEERS, else the one that ./parabench peers makes beside the pinned
/// wheels that this program was built with.
std::filesystem::path peer_environment();

/// Writes the embedded files of suite/peer into a new folder.
void write_peer_program(const std::filesystem::path& folder);

/// The words that start a launch's ranks and wait for them, its answer in `reply`.
std::vector<std::string> peer_command(const PeerLaunch& launch, int steps, int warmup,
                                      const std::filesystem::path& reply);

/// Why each of these products cannot be launched here, "" where it can: asks the environment's Python, with `scratch`,
/// a folder that is there, for its files. Whatever is wrong with the environment is a reason; nothing is left running.
std::map<std::string, std::string> probe_peers(const std::set<std::string>& products,
                                               const std::filesystem::path& program,
                                               const std::filesystem::path& scratch, Signals& signals);

}  // namespace parabench::suite
