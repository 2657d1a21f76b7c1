// The signs of life of this process (suite/protocol/beat.h).
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/strong.h"

namespace parabench::rank {

/// While it lives, a thread writes into `folder` where the ranks first..first + count - 1 of this process are. Create
/// it before ranks bind themselves to cores: a thread stays where the one that starts it is. Where the folder is gone,
/// so is the launch, and the process ends: on a host that is cut off nobody else would end it.
class Heartbeat {
 public:
  Heartbeat(std::filesystem::path folder, Rank first, int count);

 private:
  void beat(const std::stop_token& stop);
  void end_where_forgotten();

  std::filesystem::path folder_;
  Rank first_;
  int count_;
  int misses_ = 0;  ///< looks in a row at which the folder was gone; a network's folder may be out of sight for once
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

}  // namespace parabench::rank
