#include "parallelism/comm/cuda/direct_work.h"

namespace parabench::comm {

DirectWork::~DirectWork() {
  if (is_queued_) resources_.polling().count_in_flight(-1);
}

bool DirectWork::queued() {
  if (is_queued_) return true;
  if (queue_.queued != turn_) return false;
  resources_.use_gpu();
  if (!give_out()) return false;
  is_queued_ = true;
  resources_.polling().count_in_flight(1);
  // The next one may have been looked at before.
  if (++queue_.queued != queue_.started) resources_.host().notify();
  return true;
}

bool DirectWork::advance() {
  if (!queued()) return false;
  return ended_ = ended_ || has_passed(cuda_event(span_.end));
}

}  // namespace parabench::comm
