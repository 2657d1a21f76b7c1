// The files by which a launch answers, all in its reply folder: one reply, one error per failed rank, one mark per rank
// that has started, the trace that was asked for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analytic/calibration/machine.h"
#include "base/strong.h"
#include "results/file.h"
#include "suite/protocol/failure.h"
#include "suite/protocol/reply.h"

namespace parabench::protocol {

/// FOLDER/reply.json, by rename, so that a reader never sees half of it.
void write_reply(const std::filesystem::path& folder, const Reply& reply);
bool has_reply(const std::filesystem::path& folder);
/// Throws usage_error naming file, place and value where that is no such reply.
Reply read_reply(const std::filesystem::path& folder, Phase phase);

/// FOLDER/error-<rank>.json.
void write_error(const std::filesystem::path& folder, const RankError& error);
bool has_error(const std::filesystem::path& folder, Rank rank);
/// The cause among the ranks' error files: the lowest rank that did not stop merely because of another one; nullopt
/// where no rank wrote any. Unreadable files count as absent: a killed rank may have left half of one.
std::optional<RankError> read_cause(const std::filesystem::path& folder);

/// FOLDER/pid-<rank>.json: {"rank", "pid", "host"}; whoever ends a launch by hand finds its processes by it. With what
/// the rank sees of its host: {"cpu", "cores", "memory_bytes", "governor", "cpuset"}.
void write_start(const std::filesystem::path& folder, Rank rank, const analytic::MachineInfo& machine,
                 const std::string& cpuset);
/// The hosts of the ranks that have started, each once, in the order of their lowest ranks, with a cpuset for each of
/// its ranks. Unreadable files count as absent.
std::vector<results::Host> read_hosts(const std::filesystem::path& folder);
/// The host of each rank, by name; empty where not all ranks up to the highest one that has started have.
std::vector<std::string> read_host_of_rank(const std::filesystem::path& folder);
/// Ranks that have said that they started.
int started_ranks(const std::filesystem::path& folder);

/// Where rank 0 writes the launch's timeline.
std::filesystem::path trace_file(const std::filesystem::path& folder);

}  // namespace parabench::protocol
