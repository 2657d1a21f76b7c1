// Data parallelism over parameter servers (Li et al., OSDI'14): workers train copies, servers hold and update the weights.
#pragma once

#include <string_view>

#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

/// Of the parameter: its default, and what it accepts.
inline constexpr std::string_view usual_servers = "1", servers_expected = "a number of ranks from 1 on, fewer than np";

/// How many of a case's np ranks are servers, by the definition of its strategy; 0 of all others. Throws usage_error for
/// what the parameter does not accept.
int servers(const Case& spec);

/// Synchronous. The ranks before the last `servers` are workers, each with the whole model and its share of the batch. The
/// model is cut into as many stages of about as many parameters as there are servers: ranges of keys, one for each. A
/// bucket's gradients go from every worker to its server as soon as the backward has made them; the server adds them up
/// worker by worker, updates, and sends the weights back to each. Workers keep no states of the optimizer. Trains as
/// sequential.
Plan parameter_server_plan(const StrategyInput& input);

}  // namespace parabench::plan
