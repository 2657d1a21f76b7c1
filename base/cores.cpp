#include "base/cores.h"

#include <unistd.h>

namespace parabench {

int online_cores() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

}  // namespace parabench
