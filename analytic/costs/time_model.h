// How long an operation takes, in named parts.
#pragma once

#include <optional>
#include <string>

#include "analytic/closed_forms/closed_forms.h"
#include "base/time_parts.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Seconds of a collective as a share of an all-reduce of as many bytes: a reduce-scatter and an all-gather are its two
/// halves (Thakur, Rabenseifner, Gropp 2005; ring), and a broadcast over a pipelined ring is no longer than one of
/// them.
double share_of_all_reduce(plan::OpKind collective);
/// Among how many messages that travel at the same time the link of this one is shared: those of all workers at their
/// server; else 1. Workers by turns share nothing: a server sends weights to one of them at a time, since the next
/// update overwrites these, so that their gradients come one after the other too.
int link_sharers(const plan::Plan& plan, const plan::Op& message);

/// What joins racks of consecutive hosts.
struct Uplinks {
  int hosts_per_rack = 0;  ///< 0: no racks, or nothing passes between them
  double links = 0;        ///< an uplink is as wide as so many links of hosts, in each direction
};

/// What an exchange and computing do to each other while every rank of its hosts computes on one thread.
struct BesideComputing {
  /// How much longer the exchange takes; 0: unknown, its threads and theirs then share the cores in equal parts. More
  /// than that: it hands over between ranks again and again, and each waits for its turn on its core. Less: what has
  /// slept is woken first.
  double slowdown = 0;
  /// Share of its computing that a rank loses; nullopt: unknown, it then loses the time for which the exchange has its
  /// core. More than that: what the exchange reads and writes drives what computing needs out of the caches.
  std::optional<double> lost_share = {};
};

/// Seconds of the operations of one plan. Pure: same question, same answer.
class TimeModel {
 public:
  virtual ~TimeModel() = default;
  /// Of `op` on `rank` while `busy_ranks` ranks (itself included) compute and nobody communicates; of updates and
  /// additions while so many update or add. Of these no more count than its host has (Plan::placement). Messages and
  /// reductions: occupancy of the link while nobody computes and nothing else passes.
  virtual TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const = 0;
  /// Their sum, exactly. A model that knows it before its parts overrides it: simulate() asks for every operation.
  virtual double seconds(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const;
  /// Median absolute deviation of seconds(): of one rank alone over the calibration's repetitions, of several that
  /// compute side by side by how far these are apart in a step; 0 where unknown.
  virtual double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const;
  /// Of a message or collective.
  virtual BesideComputing beside_computing(const plan::Plan& plan, Rank rank, const plan::Op& op) const;
  /// Of a loader whose rank is one of so many on its host that load: seconds from sample to sample; 0: unknown, or
  /// samples stay on the device.
  virtual double load_s_per_sample(const plan::Plan& plan, int loading_ranks) const;
  /// The link between neighbours, for closed forms. Of stages, that of their messages. Of replicas of one stage: a ring
  /// over it takes as long as their all-reduce, or, where they sum in one group and then in another, as the slower one
  /// of these. Needs no measurement that the plan's own operations do not need.
  virtual Link link(const plan::Plan& plan) const;
  /// What the costs assume about a machine that nobody measured: "data sheet of H200"; "" where nothing is assumed.
  virtual std::string assumption(const plan::Plan& plan) const;
  /// The same of a message or collective of `rank`: assumption(), and what is assumed of the network.
  virtual std::string link_assumption(const plan::Plan& plan, Rank rank, const plan::Op& op) const;
  /// Cores that computing and communicating share; 0: they never compete (emulated links, unit costs).
  virtual int cores() const = 0;
  /// Of a rank on the processor: those that it is bound to with all its threads, where a host has as many for each of
  /// its ranks; of more than cores(), none is bound.
  virtual int cores_of_rank(const Case& spec) const { return spec.threads; }
  /// Whether messages and collectives that are on their way at the same time share the links of their ranks
  /// (plan::SharedLinks): what they take is then parts().latency, and parts().transfer at a link's whole rate.
  virtual bool shares_links() const { return false; }
  /// Of the hosts that the plan's placement names; parts() of what passes between racks is of an uplink that nothing
  /// else passes.
  virtual Uplinks uplinks() const { return {}; }
  virtual std::string source() const = 0;  ///< "calibrated" | "data-sheet" | "unit"
  bool is_measured() const { return source() == "calibrated"; }
  /// Whose the times of messages and collectives are: source(), or "given" of a link that is made up.
  virtual std::string link_source() const;
};

}  // namespace parabench::analytic
