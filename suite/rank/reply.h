// The files by which a launch answers: one reply, one error per failed rank, one process id per rank.
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/strong.h"

namespace parabench {

/// DIR/pid-<rank>.json: {"rank", "pid", "host"}; whoever ends the launch finds the process by it.
void write_pid(const std::string& folder, Rank rank);
/// DIR/reply.json, by rename, so that a reader never sees half of it.
void write_reply(const std::string& folder, const nlohmann::json& reply);
/// DIR/error-<rank>.json: {"rank", "kind", "message"}; kind: usage, environment, not_a_number, peer (stopped
/// because of another rank) or failure. Never throws: the error in hand matters more than one about its report.
void write_error(const std::string& folder, Rank rank, const std::exception& error) noexcept;
/// Waits until the error file of `rank` is there; false when it is not after `limit_s`. For ranks that another one
/// stopped: ending the launch before that one has written the cause would hide it.
bool await_error(const std::string& folder, Rank rank, double limit_s);

std::string host_name();

}  // namespace parabench
