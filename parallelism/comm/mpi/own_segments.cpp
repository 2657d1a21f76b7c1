#include "parallelism/comm/mpi/own_segments.h"

#include <unistd.h>

#include <fstream>
#include <set>

#include "parallelism/comm/mpi/check.h"

namespace parabench::comm {
namespace {

/// vader is the name of Open MPI 4's transport, sm that of 5's.
std::set<std::string> mapped_segments() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const char* stem : {"/dev/shm/vader_segment.", "/dev/shm/sm_segment."}) {
      if (const std::size_t begin = line.find(stem); begin != std::string::npos) paths.insert(line.substr(begin));
    }
  }
  return paths;
}

}  // namespace

std::string unlink_own_segment() {
  const std::set<std::string> paths = mapped_segments();
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  int rank = 0, ranks = 0;
  check_mpi(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(node, &ranks), "MPI_Comm_size");
  int all_mapped = std::ssize(paths) == ranks ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &all_mapped, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  if (!all_mapped) return {};
  const std::string own = *std::next(paths.begin(), rank);
  unlink(own.c_str());
  return own;
}

void restore_own_segment(const std::string& name) {
  if (!name.empty()) std::ofstream(name).flush();
}

}  // namespace parabench::comm
