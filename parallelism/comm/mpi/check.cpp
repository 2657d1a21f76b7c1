#include "parallelism/comm/mpi/check.h"

#include <fmt/format.h>

#include <stdexcept>

namespace parabench::comm {

void check_mpi(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(fmt::format("{}: {}", call, std::string_view(text, length)));
}

}  // namespace parabench::comm
