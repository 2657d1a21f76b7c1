// The processor of this host.
#pragma once

namespace parabench {

/// Logical cores that the kernel runs, whichever of them this process may use.
int online_cores();

}  // namespace parabench
