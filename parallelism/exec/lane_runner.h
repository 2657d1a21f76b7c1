// Runs the lanes of one rank on two threads: decides when an operation starts; what it does is its work's.
#pragma once

#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/timeline.h"

namespace parabench {

/// One rank's spans, [lane][index] as in the plan; on the clock of now_s().
using RankSpans = std::vector<std::vector<Span>>;

/// How both ends of a send or receive name the message: by the boundary that it crosses, the segment before it.
Message message_of(const Op& op);

/// What the operations of one rank do. Its device may have a queue of its own: then an operation has ended for the
/// lanes when it was given out, and results are sent when the device is done.
class RankWork {
 public:
  virtual ~RankWork() = default;
  /// Each of the two threads calls this first.
  virtual void enter(bool computes) = 0;

  // The computing thread, for each operation of the compute lane in order.
  virtual void queue(int index) = 0;           ///< the lane has come to it
  virtual void begin(int index) = 0;           ///< all that it needs has ended
  virtual void compute(int index) = 0;         ///< runs it, or gives it out
  virtual void finish() = 0;                   ///< all are given out: waits for the device
  virtual Span computed(int index) const = 0;  ///< after finish()

  // The communicating thread, for each operation of the other lanes.
  virtual bool is_done(int computed) const = 0;  ///< whether the device is done with an operation of the compute lane
  virtual Work start(int lane, int index) = 0;
  virtual void end(int lane, int index) = 0;
  /// How long the thread may sleep although nobody rings.
  virtual double patience_s() = 0;
};

/// Runs the operations of rank `comm.rank()` of `plan` (unrolled): one thread computes (the caller), one drives all
/// other lanes. Waiting threads sleep. Starts with a barrier; none stands between steps. `needs`: the rank's
/// dependencies. Throws PeerFailure, or what the work threw; before that the other ranks are told to stop.
RankSpans run_lanes(const Plan& plan, const LocalDependencies& needs, Communicator& comm, RankWork& work);

}  // namespace parabench
