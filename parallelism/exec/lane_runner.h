// Runs the lanes of one rank: decides when an operation starts, and on which thread; what it does is its work's.
#pragma once

#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/paces.h"
#include "parallelism/plan/timeline.h"

namespace parabench::exec {

/// One rank's spans, [lane][index] as in the plan; on the clock of now_s().
using RankSpans = std::vector<std::vector<plan::Span>>;

/// How both ends of a send or receive name the message: by the boundary that it crosses, the segment before it, or by
/// the port of a skip.
comm::Message message_of(const plan::Op& op);
/// On which what a message moves travels: activations towards the end of the model and weights towards workers on one,
/// gradients on the other.
comm::Channel channel_of(plan::Payload payload);

/// What the operations of one rank do. Its device may have queues of its own: then the lanes give operations out, and
/// the work sees to it that the device keeps to their order.
class RankWork {
 public:
  virtual ~RankWork() = default;
  /// Each thread calls this first; of several that compute, some now and then again.
  virtual void enter(bool computes) = 0;

  // The computing thread, for each operation of the compute lane in order; with executor:futurized any of those that
  // compute, in any order that plan::Readiness allows, several operations at a time.
  virtual void queue(int index) = 0;    ///< the lane has come to it
  virtual void begin(int index) = 0;    ///< all that it needs is given out: has the device wait for that
  virtual void compute(int index) = 0;  ///< runs it, or gives it out
  /// Where arrival decides (first_come.h), before begin(): an addition is of what the first of `awaited` brought, and
  /// waited for all of them.
  virtual void adds(int index, std::vector<plan::OpRef> awaited) = 0;
  /// The same before the first pass of a step for which the rank comes too late: in it passes compute nothing.
  virtual void comes_too_late(StepId step) = 0;
  virtual void finish() = 0;                         ///< once, all are given out: waits for the device
  virtual plan::Span computed(int index) const = 0;  ///< after finish()

  virtual bool is_done(int index) const = 0;  ///< whether the device is done with one that was given out

  // The communicating thread, for each operation of the other lanes.
  virtual comm::Work start(int lane, int index) = 0;                              ///< what it needs is given out
  virtual void given_out(int lane, int index, const comm::DeviceSpan& span) = 0;  ///< before others may build on it
  virtual void end(int lane, int index) = 0;
  /// How long the thread may sleep although nobody rings.
  virtual double patience_s() = 0;
  /// After finish() and all ends: when it took place, which the host saw as `seen`.
  virtual plan::Span transferred(int lane, int index, const plan::Span& seen) const = 0;
};

/// Operations of the compute lane that a rank which communicates gives out before its device has come to the end of the
/// first of them. Its peers give out as many, and what they send is received at once: without a bound, buffers of a
/// whole window of steps could be received before the first is used. So few keep the device busy all the same.
inline constexpr int most_given_out = 8;

/// Runs the operations of rank `comm.rank()` of `plan` (unrolled): one thread computes (the caller), one drives all
/// other lanes. A thread goes on when what it needs is given out, an operation of another lane that needs one of those
/// lanes when that has ended. With executor:futurized the compute lane is fired (firing.h) by as many threads as
/// operations_at_once(plan.spec) says, of which the caller is one. Waiting threads sleep. Starts with a barrier; none
/// stands between steps. `needs`: the rank's dependencies. Throws PeerFailure, or what the work threw; before that the
/// other ranks are told to stop. With `paces` a message or collective takes as long as that, though `comm` would end it
/// at once.
RankSpans run_lanes(const plan::Plan& plan, const plan::LocalDependencies& needs, comm::Communicator& comm,
                    RankWork& work, const plan::ExchangeSeconds* paces = nullptr);

}  // namespace parabench::exec
