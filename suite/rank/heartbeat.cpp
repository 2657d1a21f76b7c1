#include "suite/rank/heartbeat.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "parallelism/exec/pulse.h"
#include "suite/protocol/beat.h"
#include "suite/rank/reply.h"

namespace parabench::rank {

Heartbeat::Heartbeat(std::filesystem::path folder, Rank first, int count)
    : folder_(std::move(folder)), first_(first), count_(count), thread_([this](std::stop_token stop) { beat(stop); }) {}

void Heartbeat::beat(const std::stop_token& stop) {
  protocol::Beat now{.host = host_name(), .pid = getpid()};
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    ++now.number;
    now.ranks.clear();
    for (int r = first_.value; r < first_.value + count_; ++r) {
      const exec::Pulse::Reading pulse = exec::pulse_of(Rank(r)).read();
      now.ranks.push_back({Rank(r), pulse.moves, pulse.waits, ""});
      if (pulse.operation)
        now.ranks.back().operation =
            "step " + std::to_string(pulse.operation->step.value) + " " + to_text(*pulse.operation);
    }
    protocol::write_beat(folder_, now);
    stopped_.wait_for(lock, stop, std::chrono::duration<double>(protocol::beat_period_s), [] { return false; });
  }
}

}  // namespace parabench::rank
