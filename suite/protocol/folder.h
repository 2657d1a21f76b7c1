// The files by which a launch answers, all in its reply folder: one reply, one error per failed rank, one mark per rank
// that has started, the trace that was asked for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/strong.h"
#include "suite/protocol/failure.h"
#include "suite/protocol/reply.h"

namespace parabench::protocol {

/// FOLDER/reply.json, by rename, so that a reader never sees half of it.
void write_reply(const std::filesystem::path& folder, const Reply& reply);
/// Throws usage_error naming file, place and value where that is no such reply.
Reply read_reply(const std::filesystem::path& folder, Phase phase);

/// FOLDER/error-<rank>.json.
void write_error(const std::filesystem::path& folder, const RankError& error);
bool has_error(const std::filesystem::path& folder, Rank rank);
/// The cause among the ranks' error files: the lowest rank that did not stop merely because of another one; nullopt
/// where no rank wrote any. Unreadable files count as absent: a killed rank may have left half of one.
std::optional<RankError> read_cause(const std::filesystem::path& folder);

/// FOLDER/pid-<rank>.json: {"rank", "pid", "host"}; whoever ends a launch by hand finds its processes by it.
void write_start(const std::filesystem::path& folder, Rank rank, const std::string& host);
/// Ranks that have said that they started.
int started_ranks(const std::filesystem::path& folder);

/// Where rank 0 writes the launch's timeline.
std::filesystem::path trace_file(const std::filesystem::path& folder);

}  // namespace parabench::protocol
