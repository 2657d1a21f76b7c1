// The host's clock that all times of this machine's ranks are on.
#pragma once

namespace parabench {

/// Seconds on the monotonic clock, the same for every process of this host.
double now_s();

}  // namespace parabench
