// What runs at a moment of a simulation, and when it ends.
#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "analytic/costs/time_model.h"
#include "parallelism/plan/shared_links.h"

namespace parabench::analytic {

/// A running operation: a compute operation, a message (at its sender) or a collective (at its first member).
struct Activity {
  const plan::Op* op = nullptr;
  Rank rank;
  int lane = 0;  ///< the simulation's number of it
  int ends = 1;  ///< ranks that take part
};

/// Activities that share the cores of their hosts and the links between these, as simulate.h says.
class SharingActivities {
 public:
  SharingActivities(const plan::Plan& plan, const TimeModel& time);
  void start(const Activity& activity, double now);
  bool empty() const { return running_.empty(); }
  /// Appends the lanes of those that end next, all at one instant, to `ended` and returns the instant. Precondition:
  /// not empty.
  double finish(std::vector<int>& ended);

 private:
  struct Running {
    Activity activity;
    bool computes = false;
    bool streams = false;      ///< computes little and moves much: an update, an addition
    int host = 0;              ///< of a compute operation
    int demand = 0;            ///< cores that it would use, of all hosts together
    double weight = 1;         ///< of each of them where threads share cores: a computing one's is 1
    std::vector<int> on_host;  ///< of each; empty: there is one host
    std::vector<int> ports;    ///< of hosts, each named once, that it passes through; empty: none
    double on_link = 0;        ///< share of its time that gets longer when others pass
    int sharers = 1;           ///< messages for whose share of the link its time was asked
    std::vector<int> uplinks;  ///< ports of racks, likewise
    double links_up = 0;       ///< of hosts, that it fills in each of these where it has them to itself
    double remaining = 1;      ///< share of the operation still to do
    double whole_s = 0;        ///< what all of it would take under the present load
    double measured_s = 0;     ///< whole_s while nothing but what it was measured with runs
    int measured_busy = 0;     ///< the busy ranks that measured_s holds for; 0: not asked yet
    /// What the model said for so many busy ranks: loads come and go while an operation runs. Unknown where negative.
    std::vector<double> known_s;
  };
  /// What runs at a moment.
  struct Load {
    /// By host: compute operations, ranks that move memory (updates, additions, collectives), cores that compute
    /// operations use, and that all use.
    std::vector<int> busy, streaming, computing, cores;
    std::vector<double> weights;    ///< by host: of all that use cores
    std::vector<double> exchanges;  ///< by host: cores that messages and collectives get
    std::vector<int> passing;       ///< by port
    std::vector<double> up;         ///< by port of racks: links of hosts that what passes would fill
  };
  void place(Running& running) const;
  double weight_of(const Running& running) const;
  int ends_on(const Running& running, std::size_t host) const;
  double share_of_cores(const Running& running, std::size_t host) const;
  void place_in_racks(Running& running, const std::vector<Rank>& ranks) const;
  double share_of_links(const Running& running) const;
  double share_of_uplinks(const Running& running) const;
  double measured_s(Running& running, int busy_ranks) const;
  double stretched_s(const Running& running) const;
  void count_load();
  void reload();

  const plan::Plan& plan_;
  const TimeModel& time_;
  std::vector<int> ranks_of_host_;
  Uplinks uplinks_;
  Load load_;
  double now_ = 0;
  std::vector<Running> running_;
  std::vector<std::vector<double>> spare_;  ///< room of those that have ended, for known_s of others
};

/// What has started, by when it ends, where nothing shares cores; transfers may share links.
class OwnActivities {
 public:
  void start(int activity, double end) { running_.push({end, activity}); }
  void start(int activity, plan::Transfer transfer, double now) { links_.start(activity, std::move(transfer), now); }
  bool empty() const { return running_.empty() && links_.empty(); }
  /// All that end at the next instant, of those over links maybe none, and that instant. Precondition: not empty.
  double finish(std::vector<int>& ended) {
    double now = links_.next();
    if (!running_.empty()) now = std::min(now, running_.top().first);
    for (; !running_.empty() && running_.top().first == now; running_.pop()) ended.push_back(running_.top().second);
    if (links_.next() == now) links_.finish(ended);
    return now;
  }
  /// Whether something ends at this very instant, such as a message that takes no time.
  bool has_ended(double now) const { return !running_.empty() && running_.top().first <= now; }

 private:
  using Ending = std::pair<double, int>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> running_;
  plan::SharedLinks links_;
};

}  // namespace parabench::analytic
