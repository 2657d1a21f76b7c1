// The option --hosts: on how many hosts the ranks of cases that are only predicted would be.
#pragma once

#include <string>

#include "base/case.h"
#include "suite/run/forecast.h"

namespace parabench::suite {

/// Consecutive ranks are divided evenly among so many hosts (in_blocks): of this machine's kind, or of its data sheet.
/// 0: nothing is said, so that ranks are on one host, or fill as many of a data sheet as they take.
void set_hosts(Knowledge& knowledge, int hosts);

/// Throws usage_error where the option means nothing for the case: ranks that are threads of one host or share memory,
/// ranks that divide layers, whose hosts follow from their number, several hosts that no network of the data sheet
/// joins, more hosts than ranks, but for a rank alone, and hosts that would have fewer GPUs than ranks.
void check_hosts(const Case& spec, int hosts, const analytic::MachineInfo& machine);

/// What stands in where ranks are on several hosts, and no network between them is known or taken; "" else.
std::string unknown_network(const Knowledge& knowledge, const Case& spec);

}  // namespace parabench::suite
