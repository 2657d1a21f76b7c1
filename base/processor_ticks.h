// How much of its processors' time a host has had.
#pragma once

#include <iosfwd>
#include <optional>

namespace parabench {

/// Of all cores of a host since it started, in its own unit.
struct ProcessorTicks {
  double all = 0;
  double stolen = 0;  ///< what a hypervisor kept from them
};
/// From the first line of /proc/stat; nullopt where that is none.
std::optional<ProcessorTicks> processor_ticks(std::istream& stat);
/// Of this host.
std::optional<ProcessorTicks> processor_ticks();

/// Of the time between two looks; nullopt where one of them tells nothing, or no time has passed.
std::optional<double> stolen_share(const std::optional<ProcessorTicks>& before,
                                   const std::optional<ProcessorTicks>& after);

}  // namespace parabench
