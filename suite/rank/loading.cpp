#include "suite/rank/loading.h"

#include "base/clock.h"
#include "base/placement.h"
#include "datasets/loader.h"
#include "suite/rank/over_ranks.h"

namespace parabench::rank {
namespace {

/// Of as many pieces as take that long, within limits, after one that threads start with.
double s_per_sample(const Launch& launch, Rank rank, int samples) {
  constexpr double budget_s = 0.2;
  constexpr int fewest = 2, most = 50;
  const Case& spec = launch.plan.spec;
  datasets::Loader loader(launch.source,
                          [=](std::int64_t piece) {
                            return datasets::PieceRequest{(piece * spec.np + rank.value) * samples, samples};
                          },
                          {.threads = spec.loader, .skip_corrupt = launch.input.skip_corrupt, .seed = spec.seed});
  loader.next();
  const double start = now_s();
  int pieces = 0;
  while (pieces < fewest || (pieces < most && now_s() - start < budget_s)) {
    loader.next();
    ++pieces;
  }
  return (now_s() - start) / (pieces * static_cast<double>(samples));
}

}  // namespace

void time_loading(const Launch& launch, comm::Communicator& comm, int samples, analytic::Calibration& calibration) {
  if (launch.plan.spec.input == InputKind::resident) return;
  analytic::RatesByBusy& rates = calibration.load_s_per_sample[analytic::load_key(launch.plan.spec)];
  const int all = ranks_on_fullest_host(launch.plan.placement, comm.size());
  if (all > 1 && comm.rank() == Rank(0)) rates[1] = s_per_sample(launch, Rank(0), samples);
  comm.wait(comm.barrier());
  rates[all] = largest_of(comm, s_per_sample(launch, comm.rank(), samples));
}

}  // namespace parabench::rank
