#include "parallelism/comm/bus_bandwidth.h"

namespace parabench::comm {
namespace {

double factor(BusOperation operation, double ranks) {
  switch (operation) {
    case BusOperation::all_reduce: return 2 * (ranks - 1) / ranks;
    case BusOperation::reduce_scatter:
    case BusOperation::all_gather: return (ranks - 1) / ranks;
    case BusOperation::broadcast:
    case BusOperation::send_recv: return 1;
  }
  return 0;
}

}  // namespace

double bus_bandwidth(BusOperation operation, std::int64_t bytes, int ranks, double seconds) {
  return factor(operation, ranks) * static_cast<double>(bytes) / seconds;
}

}  // namespace parabench::comm
