// What runs at a moment of a simulation, and when it ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "analytic/costs/contention.h"
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

/// Cores that the same threads share: where a host has enough for the threads that its ranks compute on, each rank's
/// own, to which it is bound with all its threads (docs/cluster.md); else all of the host.
struct CorePools {
  std::vector<int> of_rank;              ///< the pool of each
  std::vector<int> cores, ranks, hosts;  ///< of each pool; several lie on one host
};

/// Activities that share the cores of their hosts and the links between these, as simulate.h says.
class SharingActivities {
 public:
  SharingActivities(const plan::Plan& plan, const TimeModel& time);
  void start(const Activity& activity, double now);
  bool empty() const { return running_.empty(); }
  /// Appends the lanes of those that end next, all at one instant, to `ended` and returns the instant. Precondition:
  /// not empty. O(what runs, and pools that this is in), a few operations of vectors for each while the load is what it
  /// was.
  double finish(std::vector<int>& ended);

 private:
  /// Cores that an operation would use of a pool; 0 of the work of GPUs.
  struct Used {
    int pool = 0, cores = 0;
  };
  struct Running {
    Activity activity;
    bool computes = false;
    bool streams = false;              ///< computes little and moves much: an update, an addition
    int host = 0;                      ///< of a compute operation
    int demand = 0;                    ///< cores that it would use, of all pools together
    std::int64_t weight = 0;           ///< of each of them where threads share cores, in parts of weight_unit
    std::optional<std::int64_t> lost;  ///< of a core, to computing, by each, in such parts; nullopt: by their weight
    std::vector<Used> used;            ///< by a message or collective, where there are several pools
    std::vector<int> ports;            ///< of hosts, each named once, that it passes through; empty: none
    double on_link = 0;                ///< share of its time that gets longer when others pass
    int sharers = 1;                   ///< messages for whose share of the link its time was asked
    std::vector<int> uplinks;          ///< ports of racks, likewise
    double links_up = 0;               ///< of hosts, that it fills in each of these where it has them to itself
  };
  /// What runs at a moment.
  struct Load {
    /// By host: compute operations, ranks that move memory (updates, additions, collectives).
    std::vector<int> busy, streaming;
    std::vector<int> computing, cores;  ///< by pool: cores that compute operations use, and that all use
    std::vector<std::int64_t> weights;  ///< by pool: of all that use cores
    std::vector<std::int64_t> lost;     ///< by pool: of the exchanges of which that is known
    std::vector<int> passing;           ///< by port
    std::vector<double> up;             ///< by port of racks: links of hosts that what passes would fill
    bool operator==(const Load&) const = default;
  };
  /// Of the processor: the passes of a GPU's ranks take turns on it.
  static bool shares_memory(const Running& running) {
    return running.computes && !running.streams && running.demand > 0;
  }
  void place(Running& running) const;
  void weigh(Running& running) const;
  /// Calls each(pool, cores) for those that it is in.
  template <class Each>
  void for_each_pool(const Running& running, const Each& each) const {
    if (running.computes) return each(pools_.of_rank[running.activity.rank.value], running.demand);
    if (running.used.empty()) return each(0, running.demand);
    for (const auto& [pool, cores] : running.used) each(pool, cores);
  }
  void place_in_racks(Running& running, const std::vector<Rank>& ranks) const;
  double share_of_links(const Running& running) const;
  double share_of_uplinks(const Running& running) const;
  /// What holds an operation up: cores that are wanted now, and that were when it was measured, in one of its pools.
  struct Stretch {
    double wanted = 1, measured = 1;
  };
  /// What decides how many ranks an operation is measured with, and, in the only pool, its stretch.
  struct Shape {
    bool computes = false, streams = false;
    int host = 0, demand = 0;
    std::int64_t weight = 0;
    bool operator==(const Shape&) const = default;
  };
  int shape_of(const Running& running);
  Stretch stretch_in(int pool, const Shape& shape) const;
  void count_exchanges();
  int busy_ranks(const Shape& shape) const;
  std::size_t says() const { return static_cast<std::size_t>(plan_.spec.np) + 1; }
  double said_s(int number, int busy);
  void measure();
  void mix();
  double stretched_s(const Running& running, double measured_s) const;
  /// `times`: 1 of what starts, -1 of what has ended.
  void count(const Running& running, int times);
  void count_uplinks();
  void reload();
  void remove_ended(double together, std::vector<int>& ended);

  const plan::Plan& plan_;
  const TimeModel& time_;
  std::vector<int> ranks_of_host_;
  Uplinks uplinks_;
  int cores_;  ///< of a host
  CorePools pools_;
  Crowd crowd_;
  Load load_, before_;             ///< at present, and when whole_s_ was asked for
  int weighted_ = 0;               ///< messages and collectives that run and do not share cores in equal parts
  std::vector<double> exchanges_;  ///< by pool: cores that computing loses to exchanges, where some of these run
  std::vector<double> excess_;     ///< by host: Contended::excess of the passes that run, added up
  std::vector<int> passes_;        ///< by host: these
  double now_ = 0;
  std::vector<Running> places_;  ///< of what runs, and of what has ended
  std::vector<int> unused_;
  /// Of what runs, in the order in which it started:
  std::vector<int> running_;              ///< in places_
  std::vector<Contended> contended_;      ///< what it was measured with, beside its like
  std::vector<double> measured_s_;        ///< while nothing but passes, or what it was measured with, runs
  std::vector<int> shape_;                ///< in shapes_
  std::vector<double> remaining_;         ///< share of the operation still to do
  std::vector<double> whole_s_;           ///< what all of it would take under the present load
  std::vector<double> left_s_;            ///< what is still to do would take
  std::vector<int> ended_;                ///< which of them end next
  std::size_t measured_ = 0, known_ = 0;  ///< of them have contended_, whole_s_
  /// What the model said of each of places_ for so many busy ranks: loads come and go while an operation runs. Unknown
  /// where negative.
  std::vector<double> said_s_;
  std::vector<Shape> shapes_;
  std::vector<int> busy_;           ///< ranks, of each
  std::vector<Stretch> stretches_;  ///< of each, under the present load
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
