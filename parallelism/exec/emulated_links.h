// Where ranks that emulate their devices meet for what they send each other.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/durations.h"
#include "parallelism/plan/shared_links.h"

namespace parabench::exec {

/// Messages and collectives of ranks that are threads of one process, in real time: nothing moves but the news of who
/// has come. A transfer starts when the last of its ends has come to it and takes its duration, of which on_link_s
/// passes over links that ranks share (plan::SharedLinks), as in analytic::simulate(). One for all ranks of a plan; it
/// is as new after each run of a plan. Any thread may call.
class EmulatedLinks {
 public:
  static constexpr double never = plan::SharedLinks::never;

  explicit EmulatedLinks(int ranks) : present_(ranks) {}

  /// Between these, the rank's communicator is told what it may sleep through until over() says something else.
  void enter(comm::Communicator& rank);
  void leave(const comm::Communicator& rank);

  /// Rank `own` came at the moment `posted` to its end of a transfer. `first`: the end by which all of them call it.
  void post(const plan::OpRef& first, int ends, const plan::Duration& duration, std::vector<int> ports, Rank own,
            double posted);
  /// The moment of its end as things are at `now`; never: an end is missing. Once it is not after `now` it is final,
  /// and has been told to one end more.
  double over(const plan::OpRef& first, double now);

 private:
  struct Meeting {
    int missing = 0, untold = 0;  ///< ends
    double ready = 0;             ///< when the latest of those that came did
    int number = 0;               ///< for links_
    double over = never;          ///< as it was last told, or final
    bool passes = false;          ///< on its way over links_
    std::vector<Rank> ends;       ///< who came
  };
  void advance(double now);
  void ring(const Meeting& meeting);

  std::mutex mutex_;
  std::vector<comm::Communicator*> present_;
  std::map<plan::OpRef, Meeting> meetings_;
  std::map<int, Meeting*> on_their_way_;
  plan::SharedLinks links_;
  int next_number_ = 0;
};

}  // namespace parabench::exec
