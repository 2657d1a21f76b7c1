// Transfers over links that ranks share.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// What a message or collective needs of the links.
struct Transfer {
  std::vector<int> ports;  ///< that it passes through at once, each named once
  double latency_s = 0;    ///< in which it uses none of them
  double seconds = 0;      ///< that its bytes take at a link's whole rate
  bool operator==(const Transfer&) const = default;
};

/// Every rank's link has a port for each direction: a message passes through the way out of its sender and the way in
/// of its receiver, a collective through both of every member. `op` is one of `rank`.
std::vector<int> ports_of(const Plan& plan, Rank rank, const Op& op);

/// Which transfers are on their way, and when each of them is over. From the moment when all of its ends have come to
/// it a transfer waits out its latency; then its bytes pass. Of its rate a port gives equal shares to all transfers
/// that pass at a moment, whichever lanes they are of, and a transfer goes on at the smallest of the shares that its
/// ports give it (processor sharing; what it leaves of the others nobody gets). So S bytes each of two transfers of a
/// rank in one direction take at least 2 S / rate, in opposite directions S / rate. Alone a transfer takes latency_s +
/// seconds, exactly. Deterministic. The simulator and ranks that emulate their devices both go by this class.
class SharedLinks {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// All ends of `transfer` have come to it at `ready`. `number`: the caller's name of it, of no other on its way. A
  /// moment before the latest next() is a caller's that hears late: what has passed since is made up for.
  void start(int number, Transfer transfer, double ready);
  bool empty() const { return flows_.empty(); }
  /// The next instant at which a transfer begins to pass or is over; never: none is on its way.
  double next();
  /// Appends the numbers of those that are over at next(), which may be none, and returns it. Precondition: not empty.
  /// O(s log n), s being the transfers that meet one of the ports, n all that are on their way.
  double finish(std::vector<int>& over);
  /// When one that is on its way will be over if no other begins to pass or is over before.
  double over(int number) const;

 private:
  struct Flow {
    std::vector<int> ports;
    double remaining_s = 0;  ///< at a link's whole rate
    double share = 0;        ///< of the rate; 0: its latency is not over
    double since = 0;        ///< when it had so much left; before it passes, when it will begin to
    std::uint64_t stamp = 0;

    double next() const { return share > 0 ? since + remaining_s / share : since; }
  };
  struct Event {
    double instant;
    int number;
    std::uint64_t stamp;  ///< a flow's: events of older ones are void
    auto operator<=>(const Event&) const = default;
  };
  void expect(int number, Flow& flow);
  void share_anew(int number, Flow& flow, double now);

  std::map<int, Flow> flows_;
  std::vector<std::vector<int>> passing_;  ///< [port]
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t stamps_ = 0;
};

}  // namespace parabench::plan
