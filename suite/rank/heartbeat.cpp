#include "suite/rank/heartbeat.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "parallelism/exec/pulse.h"
#include "suite/protocol/beat.h"
#include "suite/rank/reply.h"

namespace parabench::rank {

Heartbeat::Heartbeat(std::filesystem::path folder, Rank first, int count)
    : folder_(std::move(folder)), first_(first), count_(count), thread_([this](std::stop_token stop) { beat(stop); }) {}

void Heartbeat::end_where_forgotten() {
  std::error_code error;
  const bool gone = std::filesystem::status(folder_, error).type() == std::filesystem::file_type::not_found;
  misses_ = gone ? misses_ + 1 : 0;
  if (misses_ < 2) return;
  const std::string message = "parabench-rank: the launch is over, its folder is gone: " + folder_.string() + "\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
  _exit(static_cast<int>(ExitCode::case_failed));
}

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
    end_where_forgotten();
    stopped_.wait_for(lock, stop, std::chrono::duration<double>(protocol::beat_period_s), [] { return false; });
  }
}

}  // namespace parabench::rank
