// MPI's C interface, every call checked.
#pragma once

#include <mpi.h>

#include <string_view>

namespace parabench::comm {

/// Throws std::runtime_error with the call and MPI's own text unless `code` is MPI_SUCCESS. Communicators must
/// return errors.
void check_mpi(int code, std::string_view call);

}  // namespace parabench::comm
