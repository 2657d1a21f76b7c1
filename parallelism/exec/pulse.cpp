#include "parallelism/exec/pulse.h"

#include <map>

namespace parabench::exec {

void Pulse::comes_to(const plan::Op& op) {
  std::lock_guard lock(mutex_);
  now_.operation = op;
}

void Pulse::waits() {
  std::lock_guard lock(mutex_);
  now_.waits = true;
}

void Pulse::computes() {
  std::lock_guard lock(mutex_);
  now_.waits = false;
}

void Pulse::moves() {
  std::lock_guard lock(mutex_);
  ++now_.moves;
}

void Pulse::rests() {
  std::lock_guard lock(mutex_);
  now_.waits = false;
  now_.operation.reset();
}

Pulse::Reading Pulse::read() const {
  std::lock_guard lock(mutex_);
  return now_;
}

Pulse& pulse_of(Rank rank) {
  static std::mutex mutex;
  static auto* pulses = new std::map<Rank, Pulse>();
  std::lock_guard lock(mutex);
  return (*pulses)[rank];
}

}  // namespace parabench::exec
